import argparse

import numpy as np
import pandas as pd
import torch
from torch import nn
from torch.nn import functional as F

from model import RoofForecaster, layerwise_groups

PAST, AHEAD, CHANNELS = 168, 48, 6


def roofs(number, hours, seed):
    """Hourly moisture at three depths of each roof, driven by rain, sun and wind; it soaks in fast at
    the surface and dries slowly below."""
    rng = np.random.default_rng(seed)
    clock = np.arange(hours)
    rain = (rng.random((number, hours)) < 0.05) * rng.gamma(1.0, 2.0, (number, hours))
    for lag in (1, 2, 3):
        rain[:, lag:] += 0.5 * rain[:, :-lag]
    sun = np.clip(np.sin(2 * np.pi * (clock - 6) / 24), 0, None) * rng.uniform(0.3, 1, (number, hours // 24 + 1)).repeat(24, 1)[:, :hours]
    wind = np.abs(rng.normal(3, 1.5, (number, hours)))
    depths = np.zeros((number, hours, 3))
    soak, dry = rng.uniform(0.5, 1.0, (number, 1)), rng.uniform(0.5, 1.5, number)
    state = np.full((number, 3), 14.0)
    for hour in range(1, hours):
        flow = 0.03 * np.diff(state, axis=1)
        state[:, :1] += soak * rain[:, hour:hour + 1]
        state[:, :2] += flow
        state[:, 1:] -= flow
        state[:, 0] -= dry * (0.25 * sun[:, hour] + 0.02 * wind[:, hour]) * (state[:, 0] > 8)
        depths[:, hour] = state
    table = np.concatenate([depths, rain[..., None], sun[..., None], wind[..., None]], 2)
    table = (table - table.mean((0, 1))) / table.std((0, 1))
    return torch.from_numpy(table.astype(np.float32))


class Windows:
    def __init__(self, table):
        self.views = table.unfold(1, PAST + AHEAD, 1)

    def draw(self, number, generator):
        roof = torch.randint(self.views.size(0), (number,), generator=generator)
        hour = torch.randint(self.views.size(1), (number,), generator=generator)
        piece = self.views[roof, hour].transpose(1, 2)
        return piece[:, :PAST], piece[:, PAST:, 1]


def validate(model, windows, rounds=4):
    generator = torch.Generator().manual_seed(0)
    model.eval()
    with torch.no_grad():
        errors = [(model(past) - ahead).abs().mean() for past, ahead in (windows.draw(128, generator) for _ in range(rounds))]
    model.train()
    return torch.stack(errors).mean().item()


def main(args):
    torch.manual_seed(args.seed)
    generator = torch.Generator().manual_seed(args.seed)
    table = roofs(24, 24 * 150, args.seed)
    train, valid = Windows(table[:20]), Windows(table[20:])
    model = RoofForecaster(CHANNELS, PAST, AHEAD, depth=args.depth)
    optimizer = torch.optim.AdamW(layerwise_groups(model, args.lr, args.layer_decay, args.weight_decay), betas=(0.9, 0.98))
    scheduler = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, [group["lr"] for group in optimizer.param_groups], total_steps=args.steps, pct_start=0.1)

    log = pd.DataFrame(columns=["step", "loss", "mae", "gradient", "rate", "valid"])
    valid_error = float("nan")
    for step in range(1, args.steps + 1):
        past, ahead = train.draw(args.batch, generator)
        forecast = model(past)
        loss = F.huber_loss(forecast, ahead, delta=1.0)
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        optimizer.zero_grad()

        if step % args.validate_every == 0:
            valid_error = validate(model, valid)
            print(f"step {step:5d}  loss {loss.item():.4f}  valid {valid_error:.4f}", flush=True)
        log.loc[len(log)] = [
            step, loss.item(), (forecast - ahead).abs().mean().item(), norm.item(), scheduler.get_last_lr()[-1], valid_error,
        ]
        log.to_csv(args.log, index=False)
    torch.save(model.state_dict(), "thatch.pt")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=1100)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--depth", type=int, default=6)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--layer-decay", type=float, default=0.85)
    parser.add_argument("--weight-decay", type=float, default=0.05)
    parser.add_argument("--validate-every", type=int, default=100)
    parser.add_argument("--log", default="log.csv")
    parser.add_argument("--seed", type=int, default=12)
    main(parser.parse_args())
