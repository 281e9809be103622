import json
import os
import time

import numpy as np
import torch
import torch.nn as nn

from config import from_args
from energy import Energy
from sampler import Reservoir, langevin

HERE = os.path.dirname(os.path.abspath(__file__))


def stream(plates, cfg, g):
    while True:
        order = torch.randperm(len(plates), generator=g)
        for part in order.split(cfg.batch):
            if len(part) == cfg.batch:
                yield plates[part].float().div_(255).unsqueeze(1)


def objective(energy, real, fake, cfg):
    contrast = energy(real).mean() - energy(fake).mean()
    size = (energy(real) ** 2 + energy(fake) ** 2).mean()
    return contrast + cfg.alpha * size, contrast, size


def sheet(chains, path):
    tiles = chains[:64, 0].reshape(8, 8, *chains.shape[2:])
    page = tiles.permute(0, 2, 1, 3).reshape(8 * chains.shape[2], -1)
    page = (page.clamp(0, 1) * 255).byte().numpy()
    with open(path, "wb") as f:
        f.write(b"P5 %d %d 255\n" % (page.shape[1], page.shape[0]))
        f.write(page.tobytes())


def main():
    cfg = from_args()
    out = os.path.join(HERE, cfg.out)
    os.makedirs(out, exist_ok=True)
    torch.manual_seed(cfg.seed)
    g = torch.Generator().manual_seed(cfg.seed + 1)

    stored = np.load(os.path.join(HERE, cfg.data))["plates"]
    cut = len(stored) - 500
    plates, held = torch.from_numpy(stored[:cut]), torch.from_numpy(stored[cut:])
    held = held.float().div_(255).unsqueeze(1)

    energy = Energy(cfg.width)
    ema = Energy(cfg.width)
    ema.load_state_dict(energy.state_dict())
    opt = torch.optim.Adam(energy.parameters(), lr=cfg.lr, betas=(cfg.beta1, 0.999))
    reservoir = Reservoir(cfg, g)
    batches = stream(plates, cfg, g)
    journal = open(os.path.join(out, "journal.jsonl"), "w")

    start = time.time()
    for it in range(1, cfg.iters + 1):
        real = next(batches)
        where, fake = reservoir.draw(cfg.batch)
        fake = langevin(energy, fake, cfg, g)
        reservoir.put(where, fake)

        noisy = real + cfg.noise * torch.randn(real.shape, generator=g)
        loss, contrast, size = objective(energy, noisy, fake, cfg)
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(energy.parameters(), cfg.clip)
        opt.step()

        new = energy.state_dict()
        old = ema.state_dict()
        for key in old:
            old[key] = 0.995 * old[key] + 0.005 * new[key]
        ema.load_state_dict(old)

        if it % cfg.log_every == 0:
            ema.eval()
            with torch.no_grad():
                gap = ema(held[:128]).mean() - ema(reservoir.chains[:128]).mean()
            ema.train()
            row = dict(it=it, loss=loss.item(), contrast=contrast.item(), size=size.item(), gap=gap.item(),
                       seconds=round(time.time() - start, 2))
            journal.write(json.dumps(row) + "\n")
            journal.flush()
            print("%(it)5d  loss %(loss)8.4f  contrast %(contrast)8.4f  size %(size)8.4f  gap %(gap)7.4f" % row)
        if it % cfg.sheet_every == 0:
            sheet(reservoir.chains, os.path.join(out, "chains_%05d.pgm" % it))
            torch.save({"energy": energy.state_dict(), "ema": ema.state_dict(), "it": it}, os.path.join(out, "last.pt"))

    journal.close()


if __name__ == "__main__":
    main()
