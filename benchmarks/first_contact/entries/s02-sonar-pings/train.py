"""Regress depth, tilt and roughness of the sea floor from single sonar pings."""
import argparse
import csv
from pathlib import Path

import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader

from dataset import DiveArchives, split_dives
from net import ActivationProbe, PingNet


def get_args():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--dives", type=Path, default=Path(__file__).with_name("dives"))
    p.add_argument("--steps", type=int, default=400)
    p.add_argument("--batch-size", type=int, default=24)
    p.add_argument("--lr", type=float, default=2e-3)
    p.add_argument("--validate-every", type=int, default=40)
    p.add_argument("--out", type=Path, default=Path("out"))
    p.add_argument("--seed", type=int, default=7)
    return p.parse_args()


def forever(loader):
    while True:
        yield from loader


@torch.no_grad()
def validate(model, loader):
    model.eval()
    probe = ActivationProbe(model)
    squared, count = torch.zeros(3), 0
    for echo, target in loader:
        squared += (model(echo) - target).square().sum(0)
        count += len(target)
    model.train()
    probe.remove()
    return (squared / count).sqrt().tolist(), probe.summary()


def main():
    args = get_args()
    torch.manual_seed(args.seed)
    train_paths, valid_paths = split_dives(args.dives)
    train_set, valid_set = DiveArchives(train_paths, flip=True), DiveArchives(valid_paths)
    train_loader = DataLoader(train_set, args.batch_size, shuffle=True, drop_last=True)
    valid_loader = DataLoader(valid_set, 96)
    print(f"{len(train_set)} pings to train on, {len(valid_set)} held out")

    model = PingNet().to(memory_format=torch.channels_last)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=1e-2, fused=True)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.steps)

    args.out.mkdir(exist_ok=True)
    with open(args.out / "log.csv", "w", newline="") as sink:
        table = csv.writer(sink)
        table.writerow(["step", "loss", "rmse_depth", "rmse_tilt", "rmse_rough", "silent"])
        batches, total = forever(train_loader), torch.zeros(())
        for step in range(1, args.steps + 1):
            echo, target = next(batches)
            loss = F.smooth_l1_loss(model(echo), target, beta=0.1)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            total += loss.detach()

            if step % args.validate_every == 0:
                rmse, layers = validate(model, valid_loader)
                mean_loss = total.item() / args.validate_every
                total.zero_()
                silent = max(share for _, share in layers.values())
                table.writerow([step, mean_loss, *rmse, silent])
                sink.flush()
                print(f"step {step}: loss {mean_loss:.4f}, rmse {' '.join(f'{r:.3f}' for r in rmse)}, silent {silent:.2f}", flush=True)
                torch.save(model.state_dict(), args.out / "last.pt")


if __name__ == "__main__":
    main()
