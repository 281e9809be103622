import argparse
import random
import time

import torch

from process import SoundingProcess
from seabed import Seabeds

parser = argparse.ArgumentParser()
parser.add_argument("--harbours", type=int, default=20)
parser.add_argument("--steps", type=int, default=3000)
parser.add_argument("--targets", type=int, default=96)
parser.add_argument("--lr", type=float, default=5e-4)
parser.add_argument("--log-every", type=int, default=100)
parser.add_argument("--check-every", type=int, default=500)
parser.add_argument("--seed", type=int, default=12)
args = parser.parse_args()


def check(model, tasks):
    model.eval()
    worst, total = 0.0, 0.0
    with torch.inference_mode():
        for _, _, where, depth, n_context in tasks:
            loss, guess = model(where, depth, n_context, learn=False)
            error = (guess - depth).abs().mean().item()
            worst, total = max(worst, error), total + loss.item()
    model.train()
    return total / len(tasks), worst


def main():
    torch.manual_seed(args.seed)
    sizes = random.Random(args.seed)
    seabeds = Seabeds(args.harbours, seed=args.seed)
    held_out = []
    for n_context in (16, 32, 48, 64):
        held_out.append((*seabeds.draw(n_context, args.targets), n_context))
    model = SoundingProcess()
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, fused=True)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda s: min(1.0, (s + 1) / 300))
    kept = torch.zeros(2)
    began = time.time()
    for step in range(1, args.steps + 1):
        n_context = sizes.randint(24, 72)
        _, _, where, depth = seabeds.draw(n_context, args.targets)
        fit, kl = model(where, depth, n_context)
        optimizer.zero_grad()
        (fit + kl).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        kept += torch.stack([fit.detach(), kl.detach()])
        if step % args.log_every == 0:
            a, b = (kept / args.log_every).tolist()
            kept.zero_()
            print(f"step {step:5d}  fit {a:.4f}  kl {b:.4f}  {(time.time() - began) / step * 1e3:.1f} ms/step", flush=True)
        if step % args.check_every == 0:
            loss, worst = check(model, held_out)
            print(f"step {step:5d}  held out {loss:.4f}, worst mean error {worst:.3f}", flush=True)
            torch.save({"model": model.state_dict(), "step": step}, "soundings.pt")


if __name__ == "__main__":
    main()
