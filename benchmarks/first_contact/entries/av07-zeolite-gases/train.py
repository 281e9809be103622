"""Gas uptake (CO2 and CH4, two pressures each) of zeolite frameworks."""
import argparse
import csv
import random
import time

import torch
from torch.nn import functional as F

import frameworks
from net import UptakeNet


def epoch_of(items, size, rng):
    order = list(range(len(items)))
    rng.shuffle(order)
    for i in range(0, len(order) - size + 1, size):
        yield frameworks.pack([items[j] for j in order[i:i + size]])


@torch.no_grad()
def validate(net, items, size=16):
    net.eval()
    err = torch.zeros(4)
    for i in range(0, len(items), size):
        g = frameworks.pack(items[i:i + size])
        err += (torch.cat(net(g), 1) - g.uptake).abs().sum(0)
    net.train()
    return (err / len(items)).tolist()


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--frameworks", type=int, default=700)
    ap.add_argument("--batch", type=int, default=10)
    ap.add_argument("--epochs", type=int, default=50)
    ap.add_argument("--lr", type=float, default=1e-3)
    ap.add_argument("--seed", type=int, default=2)
    a = ap.parse_args()

    torch.manual_seed(a.seed)
    rng = random.Random(a.seed)
    items = frameworks.make(a.frameworks, a.seed)
    train, test = items[:-80], items[-80:]
    net = UptakeNet()
    opt = torch.optim.AdamW(net.parameters(), lr=a.lr, weight_decay=1e-4)
    plan = torch.optim.lr_scheduler.CosineAnnealingLR(opt, a.epochs)
    rows = csv.writer(open("log.csv", "w", newline=""))
    rows.writerow(["epoch", "co2", "ch4", "mae_co2_lo", "mae_co2_hi", "mae_ch4_lo", "mae_ch4_hi"])
    for epoch in range(a.epochs):
        start, sums, n = time.time(), [0.0, 0.0], 0
        for g in epoch_of(train, a.batch, rng):
            opt.zero_grad()
            co2, ch4 = net(g)
            loss_co2 = F.huber_loss(co2, g.uptake[:, :2])
            loss_co2.backward(retain_graph=True)
            loss_ch4 = F.huber_loss(ch4, g.uptake[:, 2:])
            loss_ch4.backward()
            torch.nn.utils.clip_grad_norm_(net.parameters(), 5.0)
            opt.step()
            sums[0] += loss_co2.item()
            sums[1] += loss_ch4.item()
            n += 1
        plan.step()
        mae = validate(net, test)
        rows.writerow([epoch, sums[0] / n, sums[1] / n, *mae])
        print(f"epoch {epoch} co2 {sums[0] / n:.4f} ch4 {sums[1] / n:.4f} mae {' '.join(f'{m:.3f}' for m in mae)} {time.time() - start:.1f}s", flush=True)
        torch.save(net.state_dict(), "uptake.pt")
