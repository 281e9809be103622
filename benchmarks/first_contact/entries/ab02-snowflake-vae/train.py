"""A variational autoencoder for pictures of snowflakes."""
import argparse
import time

import numpy as np
import torch

from vae import FlakeVAE, negative_elbo


def parse_args():
    p = argparse.ArgumentParser()
    p.add_argument("--data", default="flakes.npz")
    p.add_argument("--batch-size", type=int, default=512)
    p.add_argument("--epochs", type=int, default=50)
    p.add_argument("--warmup", type=int, default=10, help="epochs until the divergence counts in full")
    p.add_argument("--lr", type=float, default=1e-3)
    p.add_argument("--seed", type=int, default=5)
    return p.parse_args()


def load(path):
    with np.load(path) as archive:
        return [torch.from_numpy(archive[k]).flatten(1).float().div_(255.0) for k in ("train", "val")]


@torch.inference_mode()
def validate(model, x):
    model.eval()
    loss, reconstruction, divergence = negative_elbo(model(x), x)
    model.train()
    return loss.item(), reconstruction.item(), divergence.item()


def main():
    args = parse_args()
    torch.manual_seed(args.seed)
    train, val = load(args.data)
    model = FlakeVAE(train.shape[1])
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr, fused=True)
    steps = len(train) // args.batch_size
    print(f"{len(train)} flakes to train on, {len(val)} to validate, {steps} steps an epoch")

    for epoch in range(args.epochs):
        began = time.time()
        beta = min(1.0, (epoch + 1) / args.warmup)
        total = torch.zeros(())
        for idx in torch.randperm(len(train))[: steps * args.batch_size].split(args.batch_size):
            x = train[idx]
            loss, _, _ = negative_elbo(model(x), x, beta)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            total += loss.detach()
        elbo, rec, kl = validate(model, val)
        print(f"epoch {epoch:2d} train {total.item() / steps:.2f} val {elbo:.2f} "
              f"(reconstruction {rec:.2f}, divergence {kl:.2f}) {time.time() - began:.1f}s", flush=True)

    torch.save(model.state_dict(), "flakes.pt")


if __name__ == "__main__":
    main()
