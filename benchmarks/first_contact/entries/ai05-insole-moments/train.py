"""Fits joint moments from insole signals; the pretrained encoder stays as it is, blocks and head are trained."""
import argparse
import csv
import time
from pathlib import Path

import torch
from torch.utils.data import DataLoader

from data import StrideDataset
from losses import stance_loss, stance_rmse
from model import MomentNet

ROOT = Path(__file__).resolve().parent


def parse_args():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=260)
    p.add_argument("--batch-size", type=int, default=32)
    p.add_argument("--lr", type=float, default=1e-3)
    p.add_argument("--validate-every", type=int, default=5)
    p.add_argument("--seed", type=int, default=11)
    return p.parse_args()


@torch.no_grad()
def validate(model, loader):
    model.eval()
    rows = [stance_rmse(model(x), moments, toe_off) for x, moments, toe_off in loader]
    return torch.cat(rows).mean(dim=0)


def main():
    args = parse_args()
    torch.manual_seed(args.seed)
    runs = ROOT / "runs"
    runs.mkdir(exist_ok=True)

    path = ROOT / "data" / "strides.npz"
    train_set = StrideDataset(path, walkers=range(20), augment=True, seed=args.seed)
    val_set = StrideDataset(path, walkers=range(20, 24))
    train_loader = DataLoader(train_set, batch_size=args.batch_size, shuffle=True, drop_last=True)
    val_loader = DataLoader(val_set, batch_size=64)

    model = MomentNet(channels=38)
    model.encoder.load_state_dict(torch.load(ROOT / "data" / "encoder.pt"))
    trained = list(model.blocks.parameters()) + list(model.out.parameters())
    optimizer = torch.optim.AdamW(trained, lr=args.lr, weight_decay=1e-4)
    steps = args.epochs * len(train_loader)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=steps)

    best = float("inf")
    with open(runs / "log.csv", "w", newline="") as f:
        log = csv.writer(f)
        log.writerow(["epoch", "step", "loss", "grad_norm"])
        step = 0
        for epoch in range(1, args.epochs + 1):
            model.train()
            began, running = time.time(), 0.0
            for x, moments, toe_off in train_loader:
                optimizer.zero_grad()
                pred = model(x)
                loss = stance_loss(pred, moments, toe_off)
                loss.backward()
                norm = torch.nn.utils.clip_grad_norm_(trained, 1.0)
                optimizer.step()
                schedule.step()
                step += 1
                running += loss.item()
                log.writerow([epoch, step, f"{loss.item():.5f}", f"{norm.item():.4f}"])
            f.flush()
            print(f"epoch {epoch:3d}  loss {running / len(train_loader):.4f}  {time.time() - began:.1f} s", flush=True)

            if epoch % args.validate_every == 0:
                ankle, knee, hip = validate(model, val_loader).tolist()
                print(f"           rmse: ankle {ankle:.3f}  knee {knee:.3f}  hip {hip:.3f} Nm/kg", flush=True)
                torch.save({"model": model.state_dict(), "epoch": epoch}, runs / "last.pt")
                if ankle + knee + hip < best:
                    best = ankle + knee + hip
                    torch.save(model.state_dict(), runs / "best.pt")


if __name__ == "__main__":
    main()
