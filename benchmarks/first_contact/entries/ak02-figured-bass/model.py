import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from data import END, FEATURES, FIGURES, PAD, START


class Encoder(nn.Module):
    def __init__(self, hidden, dropout):
        super().__init__()
        self.project = nn.Sequential(nn.Linear(FEATURES, hidden), nn.ReLU(), nn.Dropout(dropout))
        self.rnn = nn.GRU(hidden, hidden, batch_first=True, bidirectional=True)
        self.bridge = nn.Linear(2 * hidden, hidden)

    def forward(self, rolls, lengths):
        packed = pack_padded_sequence(self.project(rolls), lengths, batch_first=True)
        packed, last = self.rnn(packed)
        memory, _ = pad_packed_sequence(packed, batch_first=True)
        return memory, torch.tanh(self.bridge(torch.cat([last[0], last[1]], dim=-1)))


class Attention(nn.Module):
    """Additive attention (Bahdanau et al., 2015)."""

    def __init__(self, memory, query, size):
        super().__init__()
        self.query = nn.Linear(query, size, bias=False)
        self.key = nn.Linear(memory, size)
        self.score = nn.Linear(size, 1, bias=False)

    def forward(self, state, memory, mask):
        energy = self.score(torch.tanh(self.key(memory) + self.query(state).unsqueeze(1))).squeeze(-1)
        weights = energy.masked_fill(mask, float("-inf")).softmax(dim=-1)
        return torch.bmm(weights.unsqueeze(1), memory).squeeze(1)


class Decoder(nn.Module):
    def __init__(self, hidden, embedding, attention, dropout):
        super().__init__()
        self.embed = nn.Embedding(len(FIGURES), embedding, padding_idx=PAD)
        self.attention = Attention(2 * hidden, hidden, attention)
        self.cell = nn.GRUCell(embedding + 2 * hidden, hidden)
        self.dropout = nn.Dropout(dropout)
        self.out = nn.Linear(3 * hidden, len(FIGURES))

    def step(self, embedded, state, memory, mask):
        context = self.attention(state, memory, mask)
        state = self.cell(torch.cat([embedded, context], dim=-1), state)
        return state, torch.cat([state, context], dim=-1)

    def forward(self, figures, state, memory, mask):
        outputs = []
        for embedded in self.embed(figures).unbind(dim=1):
            state, output = self.step(embedded, state, memory, mask)
            outputs.append(output)
        return self.out(self.dropout(torch.stack(outputs, dim=1)))


class FiguredBass(nn.Module):
    def __init__(self, hidden=64, embedding=32, attention=128, dropout=0.2):
        super().__init__()
        self.encoder = Encoder(hidden, dropout)
        self.decoder = Decoder(hidden, embedding, attention, dropout)

    def encode(self, rolls, lengths):
        memory, state = self.encoder(rolls, lengths)
        mask = torch.arange(memory.shape[1]) >= lengths.unsqueeze(1)
        return memory, state, mask

    def forward(self, rolls, lengths, figures):
        memory, state, mask = self.encode(rolls, lengths)
        return self.decoder(figures, state, memory, mask)

    @torch.no_grad()
    def realise(self, rolls, lengths, limit=60):
        """Greedy decoding."""
        memory, state, mask = self.encode(rolls, lengths)
        token = torch.full((len(rolls),), START)
        done = torch.zeros(len(rolls), dtype=torch.bool)
        tokens = []
        for _ in range(limit):
            state, output = self.decoder.step(self.decoder.embed(token), state, memory, mask)
            token = self.decoder.out(output).argmax(dim=-1).masked_fill(done, PAD)
            tokens.append(token)
            done |= token == END
            if done.all():
                break
        return torch.stack(tokens, dim=1)
