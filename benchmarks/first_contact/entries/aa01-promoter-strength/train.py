"""Regress promoter activity on the sequence of 256 bp windows of a small assembly."""
import argparse
import os

import pandas as pd
import torch
import torch.nn.functional as F

import prepare
from genome import Genome, Windows, reverse_complement
from model import ActivityNet
from report import History, bootstrap_interval, pearson


def parse():
    p = argparse.ArgumentParser()
    p.add_argument("--data", default="data")
    p.add_argument("--out", default="run")
    p.add_argument("--steps", type=int, default=350)
    p.add_argument("--batch-size", type=int, default=32)
    p.add_argument("--lr", type=float, default=1e-3)
    p.add_argument("--eval-every", type=int, default=50)
    p.add_argument("--resamples", type=int, default=4000)
    p.add_argument("--held-out", type=int, default=256)
    p.add_argument("--seed", type=int, default=0)
    return p.parse_args()


@torch.inference_mode()
def evaluate(model, x, y, resamples, generator):
    model.eval()
    predicted = torch.cat([model(part) for part in x.split(128)])
    model.train()
    r = pearson(predicted, y).item()
    low, high = bootstrap_interval(predicted, y, resamples, generator)
    return F.mse_loss(predicted, y).item(), r, low, high


def main():
    args = parse()
    torch.manual_seed(args.seed)
    if not os.path.exists(os.path.join(args.data, "windows.tsv")):
        prepare.main(args.data)
    os.makedirs(args.out, exist_ok=True)

    table = pd.read_csv(os.path.join(args.data, "windows.tsv"), sep="\t")
    genome = Genome(os.path.join(args.data, "assembly.fa.gz"))
    train = Windows(genome, table.iloc[args.held_out:])
    held_out = Windows(genome, table.iloc[:args.held_out].sort_values(["chrom", "start"]))
    valid_x, valid_y = held_out.batch(range(len(held_out)))

    model = ActivityNet()
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=1e-3, fused=True)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, args.lr, total_steps=args.steps)
    order = torch.Generator().manual_seed(args.seed)
    resampling = torch.Generator().manual_seed(args.seed + 1)
    history = History(os.path.join(args.out, "history.csv"))

    step, best = 0, float("inf")
    running = torch.zeros(())
    while step < args.steps:
        for x, y in train.batches(args.batch_size, order):
            if torch.rand((), generator=order) < 0.5:
                x = reverse_complement(x)
            loss = F.mse_loss(model(x), y)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            schedule.step()
            running += loss.detach()
            step += 1
            if step % args.eval_every == 0:
                mse, r, low, high = evaluate(model, valid_x, valid_y, args.resamples, resampling)
                mean = running.item() / args.eval_every
                running.zero_()
                history.add(step, mean, mse, r, low, high)
                print(f"step {step} train {mean:.4f} valid {mse:.4f} r {r:.3f} [{low:.3f} {high:.3f}]", flush=True)
                if mse < best:
                    best = mse
                    torch.save(model.state_dict(), os.path.join(args.out, "best.pt"))
            if step == args.steps:
                break
    history.close()
    genome.close()


if __name__ == "__main__":
    main()
