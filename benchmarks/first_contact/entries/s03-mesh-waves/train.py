"""Learn one time step of a wave on irregular meshes; judge by rolling the model out."""
import argparse
from pathlib import Path

import torch
import torch.nn.functional as F

from mesh import Trajectories
from model import MeshNet


def parse_args():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--steps", type=int, default=500)
    p.add_argument("--batch", type=int, default=4, help="meshes in a batch")
    p.add_argument("--side", type=int, default=22)
    p.add_argument("--hidden", type=int, default=48)
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--lr", type=float, default=2e-3)
    p.add_argument("--noise", type=float, default=0.003)
    p.add_argument("--rollout-every", type=int, default=100)
    p.add_argument("--rollout-length", type=int, default=8)
    p.add_argument("--save", type=Path, default=Path("meshnet.pt"))
    p.add_argument("--seed", type=int, default=0)
    return p.parse_args()


@torch.inference_mode()
def rollout_error(model, data, length, start=5):
    """RMS error after each step of a rollout, over the held-out meshes together."""
    model.eval()
    which = range(len(data.items))
    node, edge, senders, receivers, _ = data.batch(which, [start] * len(data.items))
    before = torch.cat([i["frames"][start - 1] for i in data.items])
    now, held = node[:, 0], node[:, 2]
    errors = []
    for t in range(1, length + 1):
        acceleration = model(torch.stack([now, 5 * (now - before), held], 1), edge, senders, receivers) * data.scale
        before, now = now, (2 * now - before + acceleration) * (1 - held)
        truth = torch.cat([i["frames"][start + t] for i in data.items])
        errors.append((now - truth).square().mean().sqrt())
    model.train()
    return torch.stack(errors).tolist()


def main():
    args = parse_args()
    torch.manual_seed(args.seed)
    generator = torch.Generator().manual_seed(args.seed + 1)
    train = Trajectories(12, args.side, 60, seed=1)
    held_out = Trajectories(2, args.side, 40, seed=2)
    held_out.scale = train.scale

    model = MeshNet(hidden=args.hidden, rounds=args.rounds)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr, fused=True)
    decay = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.1 ** (1 / max(args.steps, 1)))
    print(f"{sum(p.numel() for p in model.parameters())} parameters, {len(train.items[0]['senders'])} edges a mesh")

    losses = []
    for step in range(1, args.steps + 1):
        node, edge, senders, receivers, target = train.random_batch(args.batch, generator)
        node[:, :2] += args.noise * torch.randn(len(node), 2, generator=generator)
        free = 1 - node[:, 2]
        loss = F.mse_loss(model(node, edge, senders, receivers) * free, target)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        decay.step()
        losses.append(loss.detach())

        if step % 50 == 0:
            print(f"step {step}  loss {torch.stack(losses).mean().item():.5f}", flush=True)
            losses.clear()
        if step % args.rollout_every == 0:
            errors = rollout_error(model, held_out, args.rollout_length)
            print(f"step {step}  rollout rms {errors[0]:.4f} .. {errors[-1]:.4f}", flush=True)
            torch.save({"model": model.state_dict(), "args": {k: str(v) for k, v in vars(args).items()}}, args.save)


if __name__ == "__main__":
    main()
