"""Gait of a horse (walk, trot, tolt, canter, pace) from four hoof-mounted sensors: convolutions and a GRU."""
import json
import random
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, Sampler

HP = {"rides": 2400, "hidden": 64, "batch": 24, "epochs": 12, "lr": 3e-3, "seed": 21}
GAITS = ["walk", "trot", "tolt", "canter", "pace"]
PHASES = np.array([[0, .5, .25, .75], [0, .5, .5, 0], [0, .5, .3, .8], [0, .3, .3, .6], [0, .5, 0, .5]])


def make_rides(count, seed):
    rng = np.random.default_rng(seed)
    rides, labels = [], []
    for _ in range(count):
        gait, n = int(rng.integers(5)), int(rng.integers(90, 260))
        rate = rng.uniform(0.9, 2.2) * (1 + 0.03 * np.cumsum(rng.standard_normal(n)) / np.sqrt(n))
        turn = 2 * np.pi * (np.cumsum(rate)[:, None] / 40 + PHASES[gait] + 0.03 * rng.standard_normal(4))
        wave = np.concatenate([np.maximum(np.sin(turn), 0) ** 2, np.cos(turn), np.sin(2 * turn)], 1)
        rides.append((wave + 0.6 * rng.standard_normal(wave.shape)).astype(np.float32))
        labels.append(gait)
    return rides, labels


class Rides(Dataset):
    def __init__(self, rides, labels):
        self.rides = [torch.from_numpy((r - r.mean(0)) / r.std(0)) for r in rides]
        self.labels = torch.tensor(labels)
        self.lengths = [len(r) for r in rides]

    def __len__(self):
        return len(self.rides)

    def __getitem__(self, i):
        return self.rides[i], self.labels[i]


class AlikeLengths(Sampler):
    """Batches of rides of about the same length, in random order."""

    def __init__(self, lengths, batch):
        self.lengths, self.batch = np.array(lengths), batch

    def __len__(self):
        return len(self.lengths) // self.batch

    def __iter__(self):
        order = np.argsort(self.lengths + np.random.uniform(0, 20, len(self.lengths)))
        batches = [order[i * self.batch:(i + 1) * self.batch].tolist() for i in range(len(self))]
        random.shuffle(batches)
        yield from batches


def collate(items):
    rides, labels = zip(*items)
    lengths = torch.tensor([len(r) for r in rides])
    return nn.utils.rnn.pad_sequence(rides, batch_first=True), lengths, torch.stack(labels)


class GaitNet(nn.Module):
    def __init__(self, channels=12, hidden=64):
        super().__init__()
        self.front = nn.Sequential(nn.Conv1d(channels, hidden, 5, padding=2, stride=2), nn.ReLU())
        self.gru = nn.GRU(hidden, hidden, batch_first=True)
        self.query = nn.Linear(hidden, 1)
        self.head = nn.Linear(hidden, len(GAITS))

    def forward(self, x, lengths):
        h = self.front(x.transpose(1, 2)).transpose(1, 2)
        short = (lengths + 1) // 2
        h, _ = self.gru(h)
        inside = torch.arange(h.shape[1]) < short[:, None]
        w = self.query(h).squeeze(2).masked_fill(~inside, -1e9).softmax(1)
        return self.head(torch.einsum("bt,btd->bd", w, h))


@torch.no_grad()
def confusion(model, loader):
    model.eval()
    table = torch.zeros(len(GAITS) ** 2, dtype=torch.long)
    for x, lengths, y in loader:
        guess = model(x, lengths).argmax(1)
        table += torch.bincount(y * len(GAITS) + guess, minlength=len(GAITS) ** 2)
    model.train()
    return table.view(len(GAITS), -1)


class History:
    def __init__(self, path):
        self.path, self.rows = Path(path), []

    def add(self, **row):
        self.rows.append(row)

    def write(self):
        self.path.write_text(json.dumps(self.rows))


def main():
    random.seed(HP["seed"]), np.random.seed(HP["seed"]), torch.manual_seed(HP["seed"])
    rides, labels = make_rides(HP["rides"], HP["seed"])
    cut = int(0.9 * len(rides))
    train, test = Rides(rides[:cut], labels[:cut]), Rides(rides[cut:], labels[cut:])
    loader = DataLoader(train, batch_sampler=AlikeLengths(train.lengths, HP["batch"]), collate_fn=collate)
    test_loader = DataLoader(test, batch_sampler=AlikeLengths(test.lengths, 48), collate_fn=collate)
    model = GaitNet(hidden=HP["hidden"])
    optimizer = torch.optim.RMSprop(model.parameters(), lr=HP["lr"] / 3)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 4, 0.5)
    history = History("history.json")
    for epoch in range(HP["epochs"]):
        for x, lengths, y in loader:
            optimizer.zero_grad()
            scores = model(x, lengths)
            loss = nn.functional.cross_entropy(scores, y)
            loss.backward()
            nn.utils.clip_grad_value_(model.parameters(), 0.5)
            optimizer.step()
            history.add(loss=loss.item(), hit=(scores.argmax(1) == y).float().mean().item(), longest=x.shape[1])
        schedule.step()
        table = confusion(model, test_loader)
        history.write()
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, "gaits.pt")
        print(f"epoch {epoch}: loss {np.mean([r['loss'] for r in history.rows[-len(loader):]]):.3f}, "
              f"test accuracy {table.diag().sum().item() / table.sum().item():.3f}")


if __name__ == "__main__":
    main()
