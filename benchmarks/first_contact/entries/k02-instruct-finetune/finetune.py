import argparse

import torch
from torch.utils.data import DataLoader

from data import InstructionData, collate
from model import TinyLM, param_groups
from trainer import KeepBest, PrintCallback, Trainer


def parse():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=4)
    p.add_argument("--batch-size", type=int, default=8)
    p.add_argument("--lr", type=float, default=1e-3)
    p.add_argument("--vocab", type=int, default=6000)
    p.add_argument("--warmup", type=int, default=30)
    p.add_argument("--n-train", type=int, default=2400)
    p.add_argument("--n-eval", type=int, default=48)
    p.add_argument("--seed", type=int, default=0)
    return p.parse_args()


def main():
    args = parse()
    torch.manual_seed(args.seed)
    train = DataLoader(InstructionData(args.n_train, args.vocab, 1), batch_size=args.batch_size, shuffle=True,
                       collate_fn=collate)
    held = DataLoader(InstructionData(args.n_eval, args.vocab, 2), batch_size=16, collate_fn=collate)

    model = TinyLM(args.vocab)
    opt = torch.optim.AdamW(param_groups(model, args.lr), lr=args.lr, betas=(0.9, 0.95), fused=True)
    total = args.epochs * len(train)
    sched = torch.optim.lr_scheduler.LambdaLR(
        opt, lambda s: min(1.0, (s + 1) / args.warmup) * max(0.1, 1.0 - s / total))
    keep = KeepBest()
    Trainer(model, opt, sched, train, held, [PrintCallback(), keep]).fit(args.epochs)
    print(f"best eval loss {keep.best:.4f}")
    torch.save(keep.state, "best.pt")


if __name__ == "__main__":
    main()
