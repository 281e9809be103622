import argparse
import random
from pathlib import Path

import numpy as np
import torch
from torch.utils.data import DataLoader

from dataset import NoisySpeech
from model import MaskGRU
from trainer import Trainer

HERE = Path(__file__).parent


def parse_args():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", default=str(HERE / "data"))
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batch-size", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=1.5)
    parser.add_argument("--sample-rate", type=int, default=16000)
    parser.add_argument("--hidden", type=int, default=192)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--spectral-weight", type=float, default=5.0)
    parser.add_argument("--num-workers", type=int, default=0)
    parser.add_argument("--log-every", type=int, default=10)
    parser.add_argument("--checkpoint", default=str(HERE / "best.pt"))
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


def main():
    args = parse_args()
    random.seed(args.seed)
    np.random.seed(args.seed)
    torch.manual_seed(args.seed)

    train_set = NoisySpeech(args.data, "train", args.sample_rate, args.seconds)
    valid_set = NoisySpeech(args.data, "valid", args.sample_rate, snr=(0, 10))
    train_loader = DataLoader(train_set, args.batch_size, shuffle=True, drop_last=True, num_workers=args.num_workers)
    valid_loader = DataLoader(valid_set, batch_size=1, num_workers=args.num_workers)

    model = MaskGRU(hidden=args.hidden)
    print(f"{sum(p.numel() for p in model.parameters()) / 1e6:.2f} M parameters, {len(train_set)} utterances")
    Trainer(model, train_loader, valid_loader, args).fit()


if __name__ == "__main__":
    main()
