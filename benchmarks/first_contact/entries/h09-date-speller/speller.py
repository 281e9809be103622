import random
import time
from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F

MONTHS = "january february march april may june july august september october november december".split()
PAD, START, STOP = 0, 1, 2


@dataclass
class Settings:
    pairs: int = 12000
    batch: int = 48
    width: int = 128
    embed: int = 48
    steps: int = 700
    lr: float = 2e-3
    report: int = 140
    seed: int = 5


class Alphabet:
    def __init__(self, words):
        self.chars = sorted(set("".join(words)))
        self.index = {c: i + 3 for i, c in enumerate(self.chars)}

    def __len__(self):
        return len(self.chars) + 3

    def table(self, words, start=False):
        rows = [[START] * start + [self.index[c] for c in w] + [STOP] for w in words]
        width = max(map(len, rows))
        return torch.tensor([r + [PAD] * (width - len(r)) for r in rows])

    def text(self, row):
        row = row[: row.index(STOP)] if STOP in row else row
        return "".join(self.chars[i - 3] for i in row if i > 2)


def write_dates(count, rng):
    shapes = ["{d} {m} {y}", "{m} {d}, {y}", "{d}. {m3} {y}", "on {m} the {d}th {y}", "{y}, {d} of {m}"]
    spoken, iso = [], []
    for _ in range(count):
        y, m, d = rng.randint(1900, 2060), rng.randint(1, 12), rng.randint(1, 28)
        spoken.append(rng.choice(shapes).format(y=y, m=MONTHS[m - 1], m3=MONTHS[m - 1][:3], d=d))
        iso.append(f"{y}-{m:02d}-{d:02d}")
    return spoken, iso


class Speller(nn.Module):
    def __init__(self, source_size, target_size, cfg):
        super().__init__()
        self.read = nn.Embedding(source_size, cfg.embed, padding_idx=PAD)
        self.encoder = nn.LSTM(cfg.embed, cfg.width, batch_first=True, bidirectional=True)
        self.keys = nn.Linear(2 * cfg.width, cfg.width)
        self.bridge = nn.Linear(2 * cfg.width, cfg.width)
        self.write = nn.Embedding(target_size, cfg.embed)
        self.decoder = nn.LSTM(cfg.embed, cfg.width, batch_first=True)
        self.out = nn.Sequential(nn.Linear(2 * cfg.width, cfg.width), nn.Tanh(), nn.Linear(cfg.width, target_size))

    def encode(self, source):
        states, (last, _) = self.encoder(self.read(source))
        memory = self.keys(states)
        hidden = torch.tanh(self.bridge(torch.cat([last[0], last[1]], 1)))[None]
        return memory, (hidden, torch.zeros_like(hidden))

    def decode(self, tokens, hidden, memory, mask):
        states, hidden = self.decoder(self.write(tokens), hidden)
        seen = F.scaled_dot_product_attention(states, memory, memory, attn_mask=mask)
        return self.out(torch.cat([states, seen], 2)), hidden

    def forward(self, source, target):
        memory, hidden = self.encode(source)
        return self.decode(target, hidden, memory, (source != PAD)[:, None])[0]

    @torch.inference_mode()
    def spell(self, source, length=11):
        memory, hidden = self.encode(source)
        mask = (source != PAD)[:, None]
        token = torch.full((len(source), 1), START)
        said = []
        for _ in range(length):
            logits, hidden = self.decode(token, hidden, memory, mask)
            token = logits.argmax(2)
            said.append(token)
        return torch.cat(said, 1)


def run(cfg):
    torch.manual_seed(cfg.seed)
    rng = random.Random(cfg.seed)
    spoken, iso = write_dates(cfg.pairs, rng)
    source_alphabet, target_alphabet = Alphabet(spoken), Alphabet(iso)
    source, target = source_alphabet.table(spoken), target_alphabet.table(iso, start=True)
    held = 400
    model = Speller(len(source_alphabet), len(target_alphabet), cfg)
    optimizer = torch.optim.Adam(model.parameters(), lr=cfg.lr, fused=True)
    print(f"{cfg.pairs} dates, source {tuple(source.shape)}, target {tuple(target.shape)}")

    losses = torch.zeros(cfg.report)
    began = time.time()
    for step in range(cfg.steps):
        pick = torch.randint(held, cfg.pairs, (cfg.batch,))
        x, y = source[pick], target[pick]
        logits = model(x, y[:, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1), y[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses[step % cfg.report] = loss.detach()
        if (step + 1) % cfg.report == 0:
            said = model.spell(source[:held])
            exact = (said == target[:held, 1:]).all(1).float().mean().item()
            print(f"step {step + 1:4d}  loss {losses.mean().item():.4f}  exact {exact:.3f}  {time.time() - began:.1f}s")
    for i in range(3):
        print(f"{spoken[i]!r} -> {target_alphabet.text(said[i].tolist())}")


if __name__ == "__main__":
    run(Settings())
