import math

import torch
from torch import nn

from corpus import BOS, EOS, PAD


class PositionalEncoding(nn.Module):
    def __init__(self, dim, max_len=256):
        super().__init__()
        position = torch.arange(max_len).unsqueeze(1)
        scale = torch.exp(torch.arange(0, dim, 2) * (-math.log(10000.0) / dim))
        table = torch.zeros(max_len, dim)
        table[:, 0::2] = torch.sin(position * scale)
        table[:, 1::2] = torch.cos(position * scale)
        self.register_buffer("table", table)

    def forward(self, x):
        return x + self.table[: x.size(1)]


class GlossTransformer(nn.Module):
    def __init__(self, source_size, target_size, dim=192, heads=4, layers=3, ff=512, dropout=0.1):
        super().__init__()
        self.dim = dim
        self.source_embedding = nn.Embedding(source_size, dim, padding_idx=PAD)
        self.target_embedding = nn.Embedding(target_size, dim, padding_idx=PAD)
        self.position = PositionalEncoding(dim)
        self.transformer = nn.Transformer(
            d_model=dim, nhead=heads, num_encoder_layers=layers, num_decoder_layers=layers,
            dim_feedforward=ff, dropout=dropout, batch_first=True,
        )
        self.generator = nn.Linear(dim, target_size)
        for parameter in self.parameters():
            if parameter.dim() > 1:
                nn.init.xavier_uniform_(parameter)

    def encode(self, source):
        mask = source == PAD
        embedded = self.position(self.source_embedding(source) * math.sqrt(self.dim))
        return self.transformer.encoder(embedded, src_key_padding_mask=mask), mask

    def decode(self, target, memory, memory_mask):
        embedded = self.position(self.target_embedding(target) * math.sqrt(self.dim))
        length = target.size(1)
        causal = torch.triu(torch.ones(length, length, dtype=torch.bool, device=target.device), 1)
        return self.transformer.decoder(
            embedded, memory, tgt_mask=causal,
            tgt_key_padding_mask=target == PAD, memory_key_padding_mask=memory_mask,
        )

    def forward(self, source, target):
        memory, mask = self.encode(source)
        return self.generator(self.decode(target, memory, mask))

    @torch.no_grad()
    def greedy(self, source, max_len):
        memory, mask = self.encode(source)
        target = torch.full((source.size(0), 1), BOS, dtype=torch.long, device=source.device)
        done = torch.zeros(source.size(0), dtype=torch.bool, device=source.device)
        for _ in range(max_len - 1):
            hidden = self.decode(target, memory, mask)[:, -1]
            chosen = self.generator(hidden).argmax(-1)
            target = torch.cat([target, chosen.unsqueeze(1)], dim=1)
            done |= chosen == EOS
            if done.all():
                break
        return target
