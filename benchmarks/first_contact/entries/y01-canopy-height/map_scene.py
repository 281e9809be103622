"""Map canopy height over a scene, with epistemic and aleatoric uncertainty per pixel."""
import argparse
import json
import logging
from pathlib import Path

import numpy as np
import torch

from network import CanopyNet
from scene import Tiles, draw_scene
from uncertainty import MonteCarlo

log = logging.getLogger("canopy")


def parse():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--checkpoint", type=Path, default=Path(__file__).parent / "canopy.pt")
    p.add_argument("--side", type=int, default=2304, help="pixels along one side of the scene")
    p.add_argument("--tile", type=int, default=96)
    p.add_argument("--batch-size", type=int, default=2)
    p.add_argument("--samples", type=int, default=10)
    p.add_argument("--max-batches", type=int, default=0, help="stop early, for trying things out")
    p.add_argument("--seed", type=int, default=5)
    p.add_argument("--out", type=Path, default=Path("runs"))
    return p.parse_args()


class Report:
    """Running error and coverage of the 90 % interval."""

    def __init__(self):
        self.pixels, self.squared, self.inside = 0, 0.0, 0.0

    def update(self, mean, deviation, height):
        error = mean - height
        self.pixels += error.numel()
        self.squared += error.square().sum().item()
        self.inside += (error.abs() < 1.645 * deviation).sum().item()

    def summary(self):
        return {"rmse": (self.squared / self.pixels) ** 0.5, "coverage": self.inside / self.pixels}


def main():
    args = parse()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    args.out.mkdir(exist_ok=True)
    model = CanopyNet()
    model.load_state_dict(torch.load(args.checkpoint))
    predictor = MonteCarlo(model, args.samples)
    tiles = Tiles(*draw_scene(args.side, args.seed), tile=args.tile, batch=args.batch_size)
    torch.manual_seed(args.seed)

    canvas = np.zeros((3, args.side, args.side), dtype=np.float32)
    report = Report()
    for number, (places, images, heights) in enumerate(tiles, 1):
        mean, epistemic, aleatoric = predictor(images)
        deviation = torch.sqrt(epistemic.square() + aleatoric.square())
        report.update(mean, deviation, heights)
        for layer, values in enumerate((mean, epistemic, aleatoric)):
            for (r, c), value in zip(places, values.numpy()):
                canvas[layer, r:r + args.tile, c:c + args.tile] = value
        if number % 20 == 0:
            log.info("batch %d of %d: %s", number, len(tiles),
                     " ".join(f"{k} {v:.4f}" for k, v in report.summary().items()))
        if number == args.max_batches:
            break
    np.save(args.out / "canopy.npy", canvas)
    (args.out / "report.json").write_text(json.dumps(report.summary(), indent=1))


if __name__ == "__main__":
    main()
