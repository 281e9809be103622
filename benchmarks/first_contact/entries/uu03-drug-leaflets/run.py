"""Trains the head of the side effect classifier; the encoder stays as it is."""
import argparse

import torch

from classifier import SideEffectClassifier
from leaflets import LeafletDataset, Tokenizer
from trainer import Trainer


def parse_args():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default="leaflets.csv")
    parser.add_argument("--vocabulary", default="vocabulary.json")
    parser.add_argument("--encoder", default="encoder.pt")
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--weight-decay", type=float, default=0.01)
    parser.add_argument("--smoothing", type=float, default=0.05)
    parser.add_argument("--max-norm", type=float, default=1.0)
    parser.add_argument("--log-every", type=int, default=20)
    parser.add_argument("--out", default="output")
    parser.add_argument("--seed", type=int, default=17)
    return parser.parse_args()


def main():
    args = parse_args()
    torch.manual_seed(args.seed)
    tokenizer = Tokenizer(args.vocabulary)
    train_set = LeafletDataset(args.data, "train", tokenizer)
    dev_set = LeafletDataset(args.data, "dev", tokenizer, systems=train_set.systems)
    model = SideEffectClassifier(args.encoder, len(train_set.systems))
    optimizer = torch.optim.AdamW(model.head_parameters(), lr=args.lr, weight_decay=args.weight_decay)
    print(f"{len(train_set)} training sentences, {len(dev_set)} for development, "
          f"{sum(p.numel() for p in model.head_parameters()):,} parameters in the head")

    trainer = Trainer(model, optimizer, train_set, dev_set, args)
    trainer.train()
    print(f"best macro F1 {trainer.best:.4f}")


if __name__ == "__main__":
    main()
