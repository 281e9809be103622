"""Count varves in sediment cores: a boundary map along depth from colour and XRF scans."""
import argparse
import csv
import time

import numpy as np
import torch
from torch.utils.data import DataLoader

from data import CoreWindows, load_cores, whole_core
from losses import varve_loss
from model import VarveNet


def pick_edges(probability, threshold=0.35, apart=4):
    """Local maxima of the boundary map, the strongest first."""
    p = np.pad(probability, 1)
    peaks = np.flatnonzero((p[1:-1] > p[:-2]) & (p[1:-1] >= p[2:]) & (p[1:-1] > threshold))
    kept = []
    for peak in peaks:
        if kept and peak - kept[-1] < apart:
            if probability[peak] > probability[kept[-1]]:
                kept[-1] = peak
        else:
            kept.append(peak)
    return np.array(kept, dtype=np.float32)


@torch.no_grad()
def validate(model, cores):
    model.eval()
    hit = found = true = 0
    counted = []
    for windows, edges in cores:
        probability = torch.sigmoid(model(windows)[:, 0]).flatten().numpy()
        picked = pick_edges(probability)
        if len(picked):
            place = np.searchsorted(edges, picked).clip(1, len(edges) - 1)
            gap = np.minimum(np.abs(edges[place] - picked), np.abs(edges[place - 1] - picked))
            hit += int((gap <= 2).sum())
        found += len(picked)
        true += len(edges)
        counted.append(abs(len(picked) - len(edges)) / len(edges))
    model.train()
    return 2 * hit / max(found + true, 1), float(np.mean(counted))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cores", default="cores.npz")
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--windows", type=int, default=320)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--seed", type=int, default=4)
    parser.add_argument("--out", default="varves.pt")
    args = parser.parse_args()
    torch.manual_seed(args.seed)

    cores = load_cores(args.cores)
    train_set = CoreWindows(cores[:-4], args.windows, seed=args.seed)
    held_out = [whole_core(core) for core in cores[-4:]]
    loader = DataLoader(train_set, batch_size=args.batch, shuffle=True, drop_last=True)

    model = VarveNet()
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=1e-3)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, args.lr, total_steps=args.epochs * len(loader))

    best = 0.0
    with open("history.csv", "w", newline="") as handle:
        log = csv.writer(handle)
        log.writerow(["epoch", "loss", "f1", "miscount", "seconds"])
        for epoch in range(args.epochs):
            began = time.time()
            running = torch.zeros(())
            for windows, target in loader:
                output = model(windows)
                loss, parts = varve_loss(output, target)
                optimizer.zero_grad(set_to_none=True)
                loss.backward()
                torch.nn.utils.clip_grad_norm_(model.parameters(), 2.0)
                optimizer.step()
                schedule.step()
                running += loss.detach()
            mean = running.item() / len(loader)
            f1 = miscount = float("nan")
            if epoch % 4 == 3:
                f1, miscount = validate(model, held_out)
                if f1 > best:
                    best = f1
                    torch.save(model.state_dict(), args.out)
            log.writerow([epoch, f"{mean:.5f}", f"{f1:.4f}", f"{miscount:.4f}", f"{time.time() - began:.1f}"])
            print(f"epoch {epoch:3d}  loss {mean:.4f}  f1 {f1:.3f}  miscount {miscount:.3f}", flush=True)


if __name__ == "__main__":
    main()
