"""Predicts the arrival time at every gate of a netlist."""
import argparse
import random
import time

import torch
import torch.nn.functional as F

from netlist import load_circuits
from timing_net import TimingNet


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("--netlists", default="netlists.npz")
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--held-out", type=int, default=8)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--weight-decay", type=float, default=1e-4)
    parser.add_argument("--clip", type=float, default=2.0)
    parser.add_argument("--log-every", type=int, default=16)
    parser.add_argument("--seed", type=int, default=2)
    return parser.parse_args()


def r_squared(predicted, truth):
    return 1 - ((predicted - truth) ** 2).sum() / ((truth - truth.mean()) ** 2).sum()


@torch.no_grad()
def evaluate(net, circuits):
    net.eval()
    predicted = torch.cat([net(circuit) for circuit in circuits])
    truth = torch.cat([circuit.arrival for circuit in circuits])
    return (predicted - truth).abs().mean().item() * 100, r_squared(predicted, truth).item()


def main():
    args = parse()
    random.seed(args.seed)
    torch.manual_seed(args.seed)
    circuits = load_circuits(args.netlists)
    held_out, training = circuits[:args.held_out], circuits[args.held_out:]
    net = TimingNet()
    optimizer = torch.optim.AdamW(net.parameters(), lr=args.lr, weight_decay=args.weight_decay)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.epochs * len(training))
    gates = sum(circuit.size for circuit in training)
    print(f"{len(training)} circuits with {gates} gates, {sum(p.numel() for p in net.parameters()):,} parameters")

    best, step = float("inf"), 0
    for epoch in range(1, args.epochs + 1):
        random.shuffle(training)
        net.train()
        began, running = time.time(), 0.0
        for circuit in training:
            predicted = net(circuit)
            loss = F.smooth_l1_loss(predicted, circuit.arrival, beta=0.2)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            norm = torch.nn.utils.clip_grad_norm_(net.parameters(), args.clip)
            optimizer.step()
            schedule.step()
            running += loss.item()
            step += 1
            if step % args.log_every == 0:
                print(f"step {step:4d} loss {running / args.log_every:.4f} norm {norm.item():.2f}", flush=True)
                running = 0.0
        error, fit = evaluate(net, held_out)
        print(f"epoch {epoch}: {time.time() - began:.1f} s, held out: mean error {error:.1f} ps, R2 {fit:.3f}", flush=True)
        if error < best:
            best = error
            torch.save(net.state_dict(), "timing_net.pt")
    print(f"best mean error {best:.1f} ps")


if __name__ == "__main__":
    main()
