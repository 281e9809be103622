"""Online training of a tracker on running event-camera streams."""
import argparse
import csv
import os

import torch
import torch.nn.functional as F

from events import StreamFarm
from net import Tracker
from surface import TimeSurface


def options():
    p = argparse.ArgumentParser()
    p.add_argument("--sensors", type=int, default=16)
    p.add_argument("--size", type=int, default=64)
    p.add_argument("--taus", type=float, nargs="+", default=[3.0, 9.0, 30.0])
    p.add_argument("--bin-ms", type=float, default=2.0)
    p.add_argument("--bins", type=int, default=5, help="bins between two predictions")
    p.add_argument("--steps", type=int, default=800)
    p.add_argument("--warmup", type=int, default=60)
    p.add_argument("--lr", type=float, default=1e-3)
    p.add_argument("--eval-every", type=int, default=200)
    p.add_argument("--eval-steps", type=int, default=12)
    p.add_argument("--log-every", type=int, default=20)
    p.add_argument("--out", default="runs/tracker")
    p.add_argument("--seed", type=int, default=5)
    return p.parse_args()


class Scene:
    """Streams together with the memory that follows them."""

    def __init__(self, args, seed):
        self.farm = StreamFarm(args.sensors, args.size, seed=seed)
        self.surface = TimeSurface(args.sensors, args.size, args.taus, args.bin_ms)
        self.bins = args.bins

    def next(self):
        events, state = self.farm.bins(self.bins)
        return self.surface.update(events), state


def tracking_loss(predicted, state):
    place = F.smooth_l1_loss(predicted[:, :2], state[:, :2], beta=0.1)
    motion = F.smooth_l1_loss(predicted[:, 2:], state[:, 2:], beta=0.1)
    return place + 0.3 * motion


@torch.inference_mode()
def evaluate(net, scene, steps, size):
    net.eval()
    error = 0.0
    for _ in range(steps):
        surface, state = scene.next()
        off = (net(surface)[:, :2] - state[:, :2]) * (size - 1) / 2
        error += off.norm(dim=1).mean().item()
    net.train()
    return error / steps


def main():
    args = options()
    torch.manual_seed(args.seed)
    os.makedirs(args.out, exist_ok=True)
    train_scene, test_scene = Scene(args, 100 + args.seed), Scene(args, 900 + args.seed)
    net = Tracker(2 * len(args.taus), args.size)
    optimizer = torch.optim.AdamW(net.parameters(), lr=args.lr, weight_decay=0.01, fused=True)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda s: min(1.0, (s + 1) / args.warmup) * (1 - 0.9 * s / args.steps))

    with open(os.path.join(args.out, "log.csv"), "w", newline="") as handle:
        table = csv.writer(handle)
        table.writerow(["step", "loss", "lr"])
        for step in range(1, args.steps + 1):
            surface, state = train_scene.next()
            loss = tracking_loss(net(surface), state)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            if step % args.log_every == 0:
                value = loss.item()
                table.writerow([step, f"{value:.6f}", schedule.get_last_lr()[0]])
                print(f"step {step:5d}  loss {value:.5f}", flush=True)
            if step % args.eval_every == 0:
                pixels = evaluate(net, test_scene, args.eval_steps, args.size)
                print(f"step {step:5d}  test error {pixels:.3f} pixels", flush=True)
    torch.save(net.state_dict(), os.path.join(args.out, "tracker.pt"))


if __name__ == "__main__":
    main()
