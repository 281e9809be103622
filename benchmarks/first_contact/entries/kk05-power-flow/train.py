import argparse
import time
from pathlib import Path

import torch
import torch.nn.functional as F

from dataset import PowerFlowCases
from model import PowerFlowNet


def parse_args():
    parser = argparse.ArgumentParser(description="Learn AC power flow on a fixed grid")
    parser.add_argument("--data", default="data")
    parser.add_argument("--out", default="runs")
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--held-out", type=int, default=512)
    parser.add_argument("--lr", type=float, default=1.5e-3)
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--seed", type=int, default=4)
    return parser.parse_args()


@torch.inference_mode()
def evaluate(model, cases, data, batch_size):
    model.eval()
    inputs, targets = data
    outputs = torch.cat([model(x) for x in inputs.split(batch_size)])
    gap = (cases.to_units(outputs) - cases.to_units(targets)).abs().mean((0, 1))
    model.train()
    return gap[0].item(), gap[1].item()


def main():
    args = parse_args()
    torch.manual_seed(args.seed)
    out = Path(args.out)
    out.mkdir(parents=True, exist_ok=True)
    cases = PowerFlowCases(args.data)
    (inputs, targets), held_out = cases.split(args.held_out)
    steps = len(inputs) // args.batch_size

    model = PowerFlowNet(inputs.size(-1), cases.sender, cases.receiver, cases.line, args.width, args.layers)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr, fused=True)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.epochs * steps)
    print(f"{len(inputs)} cases, {inputs.size(1)} buses, {len(cases.sender) // 2} lines, "
          f"{sum(p.numel() for p in model.parameters())} parameters")

    best = float("inf")
    for epoch in range(1, args.epochs + 1):
        start, total = time.time(), 0.0
        order = torch.randperm(len(inputs))
        for i in range(steps):
            picked = order[i * args.batch_size:(i + 1) * args.batch_size]
            loss = F.mse_loss(model(inputs[picked]), targets[picked])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            scheduler.step()
            total += loss.item()
        voltage, angle = evaluate(model, cases, held_out, args.batch_size)
        print(f"epoch {epoch} loss {total / steps:.4f} held out: voltage {voltage:.5f} pu, angle {angle:.5f} rad, "
              f"{time.time() - start:.1f} s", flush=True)
        if angle < best:
            best = angle
            torch.save({"model": model.state_dict(), "args": vars(args)}, out / "best.pt")


if __name__ == "__main__":
    main()
