import argparse

import torch
from torch import nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from flock import fly
from model import FlockSimulator, rollout


def training_loss(model, triples, noise):
    before, now, ahead = triples.unbind(1)
    walk = noise * torch.randn_like(now)
    before, now = before + 0.5 * walk, now + walk
    wanted = ahead - 2 * now + before
    return nn.functional.smooth_l1_loss(10 * model(before, now), 10 * wanted, beta=0.1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=2400)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--birds", type=int, default=48)
    parser.add_argument("--neighbours", type=int, default=7)
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--layers", type=int, default=3)
    parser.add_argument("--noise", type=float, default=0.01)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--validate", type=int, default=300)
    args = parser.parse_args()

    torch.manual_seed(8)
    generator = torch.Generator().manual_seed(21)
    flights = fly(64, args.birds, 40, generator)
    held = fly(8, args.birds, 40, generator)
    model = FlockSimulator(args.width, args.layers, args.neighbours)
    average = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.995))
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=1e-4, fused=True)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.1 ** (1 / args.steps))
    frames = torch.arange(3)
    sums, seen, best = torch.zeros(2), 0, float("inf")

    for step in range(1, args.steps + 1):
        flight = torch.randint(len(flights), (args.batch, 1))
        start = torch.randint(flights.size(1) - 2, (args.batch, 1))
        loss = training_loss(model, flights[flight, start + frames], args.noise)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0, foreach=True)
        if torch.isfinite(norm):
            optimizer.step()
            average.update_parameters(model)
        scheduler.step()
        sums += torch.stack([loss.detach(), norm])
        seen += 1

        if step % args.validate == 0:
            average.eval()
            path = rollout(average, held[:, 0], held[:, 1], 20)
            error = (path - held[:, 2:22]).square().sum(3).sqrt().mean((0, 2))
            shown, large = (sums / seen).tolist()
            print(f"{step:5d}  loss {shown:.5f}  norm {large:.3f}  off after 5 frames {error[4]:.3f}, after 20 {error[19]:.3f}", flush=True)
            sums.zero_()
            seen = 0
            if error[19] < best:
                best = error[19].item()
                torch.save(average.module.state_dict(), "flock.pt")


if __name__ == "__main__":
    main()
