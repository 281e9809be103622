"""Fit the canopy network on random tiles of one scene."""
import argparse
from pathlib import Path

import torch

from network import CanopyNet, nll
from scene import Tiles, draw_scene


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--steps", type=int, default=200)
    p.add_argument("--batch-size", type=int, default=8)
    p.add_argument("--out", type=Path, default=Path(__file__).parent / "canopy.pt")
    args = p.parse_args()
    torch.manual_seed(0)
    tiles = Tiles(*draw_scene(768, seed=1), tile=96, batch=args.batch_size)
    model = CanopyNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, fused=True)
    g = torch.Generator().manual_seed(0)
    for step in range(1, args.steps + 1):
        images, heights = tiles.random(args.batch_size, g)
        loss = nll(*model(images), heights)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 20 == 0:
            print(f"step {step} loss {loss.item():.4f}", flush=True)
    torch.save(model.state_dict(), args.out)


if __name__ == "__main__":
    main()
