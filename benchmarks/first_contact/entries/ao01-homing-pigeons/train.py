"""Where does a pigeon think home is? Bearing and distance left from the first minutes of a flight."""
import math
import time

import torch

from model import FlightEncoder, flight_loss
from tracks import FEATURES, rotate, simulate

CONFIG = {
    "flights": 1608,
    "held": 240,
    "length": 64,
    "batch": 12,
    "micro_batch": 3,
    "epochs": 8,
    "lr": 6e-4,
    "weight_decay": 0.03,
    "warmup": 100,
    "clip": 1.0,
    "seed": 11,
}


@torch.no_grad()
def held_out(model, track, left, far):
    model.eval()
    wrong, off = [], []
    for at in range(0, len(track), 60):
        way, _, distance = model(track[at:at + 60])
        angle = torch.atan2(way[:, 1], way[:, 0]) - left[at:at + 60]
        wrong.append(torch.atan2(angle.sin(), angle.cos()).abs())
        off.append((distance - far[at:at + 60]).abs())
    model.train()
    return math.degrees(torch.cat(wrong).median().item()), torch.cat(off).mean().item()


def main(cfg):
    torch.manual_seed(cfg["seed"])
    g = torch.Generator().manual_seed(cfg["seed"])
    track, left, far = simulate(cfg["flights"] + cfg["held"], cfg["length"], cfg["seed"])
    mean, std = track.mean((0, 1)), track.std((0, 1))
    held = [t[cfg["flights"]:] for t in (track, left, far)]
    track, left, far = (t[:cfg["flights"]] for t in (track, left, far))

    model = FlightEncoder(FEATURES, cfg["length"])
    decayed = [p for p in model.parameters() if p.ndim > 1]
    plain = [p for p in model.parameters() if p.ndim <= 1]
    optimizer = torch.optim.AdamW(
        [{"params": decayed, "weight_decay": cfg["weight_decay"]}, {"params": plain, "weight_decay": 0.0}],
        lr=cfg["lr"], fused=True,
    )
    total = cfg["epochs"] * (cfg["flights"] // cfg["batch"])
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda n: min((n + 1) / cfg["warmup"], 0.5 * (1 + math.cos(math.pi * n / total)))
    )
    pieces = cfg["batch"] // cfg["micro_batch"]

    for epoch in range(cfg["epochs"]):
        began, summed = time.time(), torch.zeros(())
        order = torch.randperm(cfg["flights"], generator=g)
        for rows in order.split(cfg["batch"]):
            turned, bearing = rotate(track[rows], left[rows], g)
            turned = (turned - mean) / std
            distance = far[rows]
            optimizer.zero_grad(set_to_none=True)
            loss = 0.0
            for part in range(pieces):
                cut = slice(part * cfg["micro_batch"], (part + 1) * cfg["micro_batch"])
                piece = flight_loss(*model(turned[cut]), bearing[cut], distance[cut]) / pieces
                piece.backward()
                loss = loss + piece.detach()
            torch.nn.utils.clip_grad_norm_(model.parameters(), cfg["clip"])
            optimizer.step()
            schedule.step()
            summed += loss
        degrees, off = held_out(model, (held[0] - mean) / std, held[1], held[2])
        print(f"epoch {epoch:2d} loss {summed.item() / len(order.split(cfg['batch'])):.4f} "
              f"held: {degrees:.1f} deg, {off:.3f} log km  {time.time() - began:.1f}s", flush=True)
    torch.save({"model": model.state_dict(), "mean": mean, "std": std}, "pigeons.pt")


if __name__ == "__main__":
    main(CONFIG)
