import random

import torch
import torch.nn as nn


class Encoder(nn.Module):
    def __init__(self, inputs, hidden):
        super().__init__()
        self.rnn = nn.GRU(inputs, hidden, batch_first=True)

    def forward(self, past):
        outputs, state = self.rnn(past)
        return outputs, state[-1]


class Attention(nn.Module):
    """Additive attention (Bahdanau et al.)."""

    def __init__(self, encoder_dim, decoder_dim, attention_dim):
        super().__init__()
        self.energy = nn.Linear(encoder_dim + decoder_dim, attention_dim)
        self.score = nn.Linear(attention_dim, 1, bias=False)

    def forward(self, state, encoder_outputs):
        steps = encoder_outputs.size(1)
        repeated = state.unsqueeze(1).repeat(1, steps, 1)
        energy = torch.tanh(self.energy(torch.cat([repeated, encoder_outputs], dim=2)))
        weights = torch.softmax(self.score(energy).squeeze(2), dim=1)
        return torch.bmm(weights.unsqueeze(1), encoder_outputs).squeeze(1)


class Decoder(nn.Module):
    def __init__(self, covariates, hidden, attention_dim, quantiles):
        super().__init__()
        self.attention = Attention(hidden, hidden, attention_dim)
        self.cell = nn.GRUCell(1 + covariates + hidden, hidden)
        self.head = nn.Linear(2 * hidden, quantiles)

    def forward(self, previous, covariates, state, encoder_outputs):
        context = self.attention(state, encoder_outputs)
        state = self.cell(torch.cat([previous, covariates, context], dim=1), state)
        return self.head(torch.cat([state, context], dim=1)), state


class Forecaster(nn.Module):
    def __init__(self, zones, covariates=8, zone_dim=6, hidden=64, attention_dim=64, quantiles=(0.1, 0.5, 0.9)):
        super().__init__()
        self.median = quantiles.index(0.5)
        self.zone = nn.Embedding(zones, zone_dim)
        self.encoder = Encoder(1 + covariates + zone_dim, hidden)
        self.decoder = Decoder(covariates + zone_dim, hidden, attention_dim, len(quantiles))

    def forward(self, past, future, zone, target=None, teacher_forcing=0.0):
        zone = self.zone(zone)
        past = torch.cat([past, zone.unsqueeze(1).expand(-1, past.size(1), -1)], dim=2)
        future = torch.cat([future, zone.unsqueeze(1).expand(-1, future.size(1), -1)], dim=2)
        encoder_outputs, state = self.encoder(past)
        previous = past[:, -1, :1]
        outputs = []
        for hour in range(future.size(1)):
            output, state = self.decoder(previous, future[:, hour], state, encoder_outputs)
            outputs.append(output)
            if target is not None and random.random() < teacher_forcing:
                previous = target[:, hour:hour + 1]
            else:
                previous = output[:, self.median:self.median + 1]
        return torch.stack(outputs, dim=1)


def pinball_loss(prediction, target, quantiles):
    losses = []
    for i, q in enumerate(quantiles):
        error = target - prediction[:, :, i]
        losses.append(torch.maximum(q * error, (q - 1) * error))
    return torch.stack(losses, dim=-1).mean()
