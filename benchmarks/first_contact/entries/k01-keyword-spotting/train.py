import argparse
import time

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

from augment import NoiseMixer, spec_mask, time_shift
from features import LogMelDelta
from synth import CLASSES, background_recordings, build_corpus


class KeywordDataset(Dataset):
    def __init__(self, waves, labels, extractor, mixer=None, seed=0):
        self.waves, self.labels = waves, labels
        self.extractor = extractor
        self.mixer = mixer
        self.rng = np.random.default_rng(seed)

    def __len__(self):
        return len(self.waves)

    def __getitem__(self, i):
        wave = self.waves[i]
        if self.mixer is not None:
            wave = time_shift(wave, self.rng)
            wave = self.mixer(wave, self.rng)
        feat = self.extractor(wave)
        if self.mixer is not None:
            feat = spec_mask(feat, self.rng)
        return torch.from_numpy(feat), int(self.labels[i])


class DSBlock(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.dw = nn.Conv2d(c, c, 3, padding=1, groups=c, bias=False)
        self.bn1 = nn.BatchNorm2d(c)
        self.pw = nn.Conv2d(c, c, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(c)

    def forward(self, x):
        x = F.relu(self.bn1(self.dw(x)))
        return F.relu(self.bn2(self.pw(x)))


class DSCNN(nn.Module):
    def __init__(self, n_classes, c=32, blocks=3):
        super().__init__()
        self.stem = nn.Conv2d(3, c, (10, 4), stride=(2, 2), padding=(5, 1), bias=False)
        self.bn = nn.BatchNorm2d(c)
        self.blocks = nn.Sequential(*[DSBlock(c) for _ in range(blocks)])
        self.drop = nn.Dropout(0.2)
        self.fc = nn.Linear(c, n_classes)

    def forward(self, x):
        x = x.contiguous(memory_format=torch.channels_last)
        x = F.relu(self.bn(self.stem(x)))
        x = self.blocks(x).mean(dim=(2, 3))
        return self.fc(self.drop(x))


@torch.no_grad()
def evaluate(model, loader):
    model.eval()
    hits, loss, n = 0, 0.0, 0
    for x, y in loader:
        logits = model(x)
        loss += F.cross_entropy(logits, y, reduction="sum").item()
        hits += (logits.argmax(1) == y).sum().item()
        n += len(y)
    model.train()
    return loss / n, hits / n


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=60)
    ap.add_argument("--batch-size", type=int, default=16)
    ap.add_argument("--lr", type=float, default=2e-3)
    ap.add_argument("--n-train", type=int, default=480)
    ap.add_argument("--n-val", type=int, default=320)
    args = ap.parse_args()
    torch.manual_seed(0)

    extractor = LogMelDelta()
    mixer = NoiseMixer(background_recordings())
    train_set = KeywordDataset(*build_corpus(args.n_train, seed=1), extractor, mixer)
    val_set = KeywordDataset(*build_corpus(args.n_val, seed=2), extractor)
    train_loader = DataLoader(train_set, batch_size=args.batch_size, shuffle=True, drop_last=True)
    val_loader = DataLoader(val_set, batch_size=64)

    model = DSCNN(len(CLASSES)).to(memory_format=torch.channels_last)
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=1e-3)
    sched = torch.optim.lr_scheduler.OneCycleLR(opt, args.lr, total_steps=args.epochs * len(train_loader))

    best = 0.0
    for epoch in range(args.epochs):
        t0, running = time.time(), 0.0
        for x, y in train_loader:
            loss = F.cross_entropy(model(x), y, label_smoothing=0.05)
            opt.zero_grad()
            loss.backward()
            opt.step()
            sched.step()
            running += loss.item()
        val_loss, acc = evaluate(model, val_loader)
        best = max(best, acc)
        print(f"epoch {epoch:02d} train {running / len(train_loader):.3f} val {val_loss:.3f} "
              f"acc {acc:.3f} best {best:.3f} ({time.time() - t0:.1f}s)", flush=True)


if __name__ == "__main__":
    main()
