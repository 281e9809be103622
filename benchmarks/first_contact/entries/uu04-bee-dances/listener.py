"""Convolutional encoder and an attending LSTM decoder that reads the dance out token by token."""
import torch
import torch.nn.functional as F
from torch import nn

from dances import BOS, PAD


class Encoder(nn.Module):
    def __init__(self, bands, width):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv1d(bands, width, 5, padding=2), nn.GELU(),
            nn.Conv1d(width, width, 5, stride=2, padding=2), nn.GELU(),
        )
        self.rnn = nn.GRU(width, width // 2, num_layers=2, batch_first=True, bidirectional=True)

    def forward(self, frames, counts):
        x = self.conv(frames.transpose(1, 2)).transpose(1, 2)
        counts = (counts + 1) // 2
        x, _ = self.rnn(x)
        mask = torch.arange(x.shape[1])[None] < counts[:, None]
        return x, mask


class Decoder(nn.Module):
    def __init__(self, tokens, width, embed=64):
        super().__init__()
        self.embed = nn.Embedding(tokens, embed, padding_idx=PAD)
        self.cell = nn.LSTMCell(embed + width, width)
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        self.energy = nn.Linear(width, 1, bias=False)
        self.out = nn.Sequential(nn.Linear(2 * width, width), nn.GELU(), nn.Linear(width, tokens))
        self.width = width

    def start(self, memory):
        zero = memory.new_zeros(len(memory), self.width)
        return zero, zero, memory.new_zeros(len(memory), memory.shape[2])

    def advance(self, token, state, memory, keys, mask):
        hidden, cell, context = state
        hidden, cell = self.cell(torch.cat([self.embed(token), context], 1), (hidden, cell))
        energy = self.energy(torch.tanh(keys + self.query(hidden).unsqueeze(1))).squeeze(2)
        weight = energy.masked_fill(~mask, -1e4).softmax(1)
        context = torch.bmm(weight.unsqueeze(1), memory).squeeze(1)
        return self.out(torch.cat([hidden, context], 1)), (hidden, cell, context)

    def forward(self, memory, mask, tokens, own_share):
        """Logits for tokens[:, 1:]; with probability `own_share` a token is replaced by the model's own guess."""
        keys = self.key(memory)
        state = self.start(memory)
        token = tokens[:, 0]
        own = torch.rand(tokens.shape) < own_share
        logits = []
        for place in range(tokens.shape[1] - 1):
            scores, state = self.advance(token, state, memory, keys, mask)
            logits.append(scores)
            token = torch.where(own[:, place + 1], scores.argmax(1), tokens[:, place + 1])
        return torch.stack(logits, 1)

    @torch.no_grad()
    def read(self, memory, mask, longest):
        keys = self.key(memory)
        state = self.start(memory)
        token = torch.full((len(memory),), BOS)
        said = []
        for _ in range(longest):
            scores, state = self.advance(token, state, memory, keys, mask)
            token = scores.argmax(1)
            said.append(token)
        return torch.stack(said, 1)


class Listener(nn.Module):
    def __init__(self, bands, tokens, width=192):
        super().__init__()
        self.encoder = Encoder(bands, width)
        self.decoder = Decoder(tokens, width)

    def forward(self, frames, counts, tokens, own_share=0.0):
        memory, mask = self.encoder(frames, counts)
        return self.decoder(memory, mask, tokens, own_share)

    def loss(self, frames, counts, tokens, own_share, smoothing=0.05):
        logits = self(frames, counts, tokens, own_share)
        return F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten(), ignore_index=PAD,
                               label_smoothing=smoothing)
