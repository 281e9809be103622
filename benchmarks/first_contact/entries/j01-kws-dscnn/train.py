"""Keyword spotting on short clips with a depthwise-separable CNN."""
import argparse
import time
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader

from corpus import CommandDataset, synthesize
from model import DSCNN


@dataclass
class Config:
    sample_rate: int = 16000
    clip_seconds: float = 3.0
    crop_seconds: float = 1.0
    n_fft: int = 512
    hop: int = 160
    n_mels: int = 40
    f_min: float = 20.0
    f_max: float = 7600.0
    words: int = 10
    batch_size: int = 32
    seed: int = 3


@torch.inference_mode()
def accuracy(model, loader):
    model.eval()
    right = sum((model(x).argmax(1) == y).sum() for x, y in loader)
    model.train()
    return int(right) / len(loader.dataset)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--per-word", type=int, default=128)
    args = parser.parse_args()

    config = Config()
    torch.manual_seed(config.seed)
    clips, labels = synthesize(config.words, args.per_word, config.clip_seconds, config.sample_rate, 0)
    test_clips, test_labels = synthesize(config.words, 8, config.clip_seconds, config.sample_rate, 1)
    train_loader = DataLoader(CommandDataset(clips, labels, config, True), config.batch_size,
                              shuffle=True, drop_last=True)
    test_loader = DataLoader(CommandDataset(test_clips, test_labels, config, False), 80)

    model = DSCNN(config.words).to(memory_format=torch.channels_last)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=1e-2, fused=True)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, args.lr, args.epochs * len(train_loader))

    for epoch in range(1, args.epochs + 1):
        started, running = time.time(), torch.zeros(())
        for x, y in train_loader:
            x = x.contiguous(memory_format=torch.channels_last)
            loss = F.cross_entropy(model(x), y, label_smoothing=0.05)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            scheduler.step()
            running += loss.detach()
        print(f"epoch {epoch}  loss {running.item() / len(train_loader):.3f}  "
              f"test acc {accuracy(model, test_loader):.3f}  {time.time() - started:.1f}s")


if __name__ == "__main__":
    main()
