import math

import torch
import torch.nn as nn
import torch.nn.functional as F

from corpus import BOS, EOS, PAD, UNK


class Position(nn.Module):
    def __init__(self, dim, length=512):
        super().__init__()
        t = torch.arange(length).unsqueeze(1)
        div = torch.exp(torch.arange(0, dim, 2) * (-math.log(10000.0) / dim))
        table = torch.zeros(length, dim)
        table[:, 0::2] = torch.sin(t * div)
        table[:, 1::2] = torch.cos(t * div)
        self.register_buffer("table", table)

    def forward(self, x):
        return x + self.table[: x.size(1)]


class Attention(nn.Module):
    """Additive attention over the encoder states."""

    def __init__(self, dim):
        super().__init__()
        self.query = nn.Linear(dim, dim, bias=False)
        self.key = nn.Linear(dim, dim)
        self.score = nn.Linear(dim, 1, bias=False)

    def forward(self, state, keys, memory, padding):
        score = self.score(torch.tanh(self.query(state).unsqueeze(1) + keys)).squeeze(-1)
        weights = F.softmax(score.masked_fill(padding, float("-inf")), dim=-1)
        return torch.bmm(weights.unsqueeze(1), memory).squeeze(1), weights


class PointerSummarizer(nn.Module):
    def __init__(self, vocab_size, dim=128, heads=4, layers=2, dropout=0.1):
        super().__init__()
        self.vocab_size = vocab_size
        self.embed = nn.Embedding(vocab_size, dim, padding_idx=PAD)
        self.position = Position(dim)
        layer = nn.TransformerEncoderLayer(dim, heads, 4 * dim, dropout, batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, layers, nn.LayerNorm(dim), enable_nested_tensor=False)
        self.init_state = nn.Linear(dim, dim)
        self.cell = nn.GRUCell(2 * dim, dim)
        self.attention = Attention(dim)
        self.gate = nn.Linear(3 * dim, 1)
        self.out = nn.Sequential(nn.Linear(2 * dim, dim), nn.Linear(dim, vocab_size))

    def encode(self, src):
        padding = src == PAD
        memory = self.encoder(self.position(self.embed(src)), src_key_padding_mask=padding)
        keep = (~padding).unsqueeze(-1)
        mean = (memory * keep).sum(1) / keep.sum(1)
        return memory, self.attention.key(memory), padding, torch.tanh(self.init_state(mean))

    def step(self, token, state, context, memory, keys, padding, src_ext, extra):
        emb = self.embed(token)
        state = self.cell(torch.cat([emb, context], dim=-1), state)
        context, weights = self.attention(state, keys, memory, padding)
        p_gen = torch.sigmoid(self.gate(torch.cat([emb, state, context], dim=-1)))
        vocab_dist = F.softmax(self.out(torch.cat([state, context], dim=-1)), dim=-1)
        final = torch.cat([p_gen * vocab_dist, vocab_dist.new_zeros(len(token), extra)], dim=-1)
        final = final.scatter_add(1, src_ext, (1 - p_gen) * weights)
        return final, state, context

    def forward(self, batch):
        """Mean negative log likelihood of the headline."""
        memory, keys, padding, state = self.encode(batch["src"])
        context = torch.zeros_like(state)
        loss, count = 0.0, 0
        for t in range(batch["tgt_in"].size(1)):
            final, state, context = self.step(batch["tgt_in"][:, t], state, context, memory, keys, padding,
                                              batch["src_ext"], batch["extra"])
            target = batch["tgt_out"][:, t]
            mask = (target != PAD).float()
            prob = final.gather(1, target.unsqueeze(1)).squeeze(1)
            loss = loss - (torch.log(prob + 1e-10) * mask).sum()
            count = count + mask.sum()
        return loss / count

    @torch.no_grad()
    def greedy(self, src, src_ext, extra, max_len):
        memory, keys, padding, state = self.encode(src)
        context = torch.zeros_like(state)
        token = torch.full((len(src),), BOS)
        done = torch.zeros(len(src), dtype=torch.bool)
        words = []
        for _ in range(max_len):
            final, state, context = self.step(token, state, context, memory, keys, padding, src_ext, extra)
            best = final.argmax(dim=-1)
            words.append(best.masked_fill(done, EOS))
            done = done | (best == EOS)
            if done.all():
                break
            token = best.masked_fill(best >= self.vocab_size, UNK)
        return torch.stack(words, dim=1)
