"""Segment a series of scans with a trained network and write a table of scores.

Without a checkpoint a network is fitted briefly to a few cases first.
"""
import argparse
import csv
import logging
from pathlib import Path

import torch
import torch.nn.functional as F

from cases import ORGANS, draw_case
from network import VolumeNet
from pipeline import Segmenter, dice
from windows import SlidingPredictor

log = logging.getLogger("organs")


def parse():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--cases", type=int, default=24)
    p.add_argument("--checkpoint", type=Path, default=Path(__file__).parent / "organs.pt")
    p.add_argument("--overlap", type=float, default=0.5)
    p.add_argument("--window-batch", type=int, default=2)
    p.add_argument("--fit-steps", type=int, default=150)
    p.add_argument("--out", type=Path, default=Path("runs"))
    return p.parse_args()


def fit(network, steps, window=(32, 48, 48)):
    """A short fit on random windows of four cases."""
    optimizer = torch.optim.Adam(network.parameters(), lr=5e-3, fused=True)
    scans = [(draw_case(i, seed=9).scan, draw_case(i, seed=9).labels) for i in range(4)]
    scans = [((s.clamp(-200, 500) - s.mean()) / s.std(), labels) for s, labels in scans]
    g = torch.Generator().manual_seed(0)
    for step in range(1, steps + 1):
        images, targets = [], []
        for _ in range(2):
            scan, labels = scans[torch.randint(4, (), generator=g)]
            place = tuple(slice(int(s), int(s) + side) for s, side in
                          ((torch.randint(n - side + 1, (), generator=g), side) for n, side in zip(scan.shape, window)))
            images.append(scan[place])
            targets.append(labels[place])
        loss = F.cross_entropy(network(torch.stack(images).unsqueeze(1)), torch.stack(targets))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 25 == 0:
            log.info("fit step %d loss %.4f", step, loss.item())


def main():
    args = parse()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    torch.manual_seed(0)
    args.out.mkdir(exist_ok=True)
    network = VolumeNet(len(ORGANS))
    if args.checkpoint.exists():
        network.load_state_dict(torch.load(args.checkpoint))
    else:
        fit(network, args.fit_steps)
        torch.save(network.state_dict(), args.checkpoint)

    segmenter = Segmenter(SlidingPredictor(network, len(ORGANS), overlap=args.overlap, batch=args.window_batch))
    cases = [draw_case(number) for number in range(args.cases)]
    rows = []
    for case in cases:
        prediction = segmenter(case)
        scores = dice(prediction, case.labels, len(ORGANS))
        volume = torch.bincount(prediction.flatten(), minlength=len(ORGANS)) * torch.tensor(case.spacing).prod() / 1000
        rows.append([case.name, *(f"{v:.4f}" for v in scores.tolist()), *(f"{v:.1f}" for v in volume.tolist())])
        log.info("%s %s: mean dice %.4f", case.name, tuple(case.scan.shape), scores[1:].mean().item())

    with open(args.out / "scores.csv", "w", newline="") as f:
        table = csv.writer(f)
        table.writerow(["case", *(f"dice {name}" for name in ORGANS), *(f"ml {name}" for name in ORGANS)])
        table.writerows(rows)


if __name__ == "__main__":
    main()
