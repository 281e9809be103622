import argparse
import csv
import math
import time
from pathlib import Path

import torch
from torch.utils.data import DataLoader, Subset

from fields import Reanalysis, Transitions
from model import WeatherTransformer
from scores import acc, rmse, weighted_mse


def parse_args():
    p = argparse.ArgumentParser(description="Transformer weather emulator on a coarse global grid")
    p.add_argument("--root", type=Path, default=Path("data/reanalysis"))
    p.add_argument("--out", type=Path, default=Path("runs/weather"))
    p.add_argument("--epochs", type=int, default=2)
    p.add_argument("--batch-size", type=int, default=12)
    p.add_argument("--lr", type=float, default=6e-4)
    p.add_argument("--warmup", type=int, default=30)
    p.add_argument("--weight-decay", type=float, default=0.02)
    p.add_argument("--clip", type=float, default=1.0)
    p.add_argument("--rollout", type=int, default=4, help="six-hour steps of the validation forecasts")
    p.add_argument("--valid-stride", type=int, default=8)
    p.add_argument("--log-every", type=int, default=20)
    p.add_argument("--seed", type=int, default=0)
    return p.parse_args()


def groups(model, weight_decay):
    decay = [p for p in model.parameters() if p.ndim == 2]
    plain = [p for p in model.parameters() if p.ndim != 2]
    return [{"params": decay, "weight_decay": weight_decay}, {"params": plain, "weight_decay": 0.0}]


@torch.inference_mode()
def validate(model, loader, data):
    model.eval()
    skill, corr, n = 0.0, 0.0, 0
    for state, future in loader:
        errors, correlations = [], []
        for k in range(future.shape[1]):
            state = model(state)
            errors.append(rmse(state, future[:, k], data.lat_weight))
            correlations.append(acc(state, future[:, k], data.climatology, data.lat_weight))
        skill = skill + torch.stack(errors) * len(future)
        corr = corr + torch.stack(correlations) * len(future)
        n += len(future)
    model.train()
    return skill / n, corr / n


def main():
    args = parse_args()
    torch.manual_seed(args.seed)
    args.out.mkdir(parents=True, exist_ok=True)
    data = Reanalysis(args.root)
    train_set = Transitions(data.states[: data.border], 1)
    valid_all = Transitions(data.states[data.border:], args.rollout)
    valid_set = Subset(valid_all, range(0, len(valid_all), args.valid_stride))
    train_loader = DataLoader(train_set, args.batch_size, shuffle=True, drop_last=True)
    valid_loader = DataLoader(valid_set, args.batch_size)

    variables, height, width = data.states.shape[1:]
    model = WeatherTransformer(variables, data.constants, height, width)
    optimizer = torch.optim.AdamW(groups(model, args.weight_decay), lr=args.lr, betas=(0.9, 0.95), fused=True)
    total = args.epochs * len(train_loader)

    def factor(step):
        if step < args.warmup:
            return (step + 1) / args.warmup
        return 0.5 * (1 + math.cos(math.pi * (step - args.warmup) / (total - args.warmup)))

    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, factor)
    print(f"{len(train_set)} transitions, {total} steps, {sum(p.numel() for p in model.parameters()):,} parameters")
    log = open(args.out / "log.csv", "w", newline="")
    writer = csv.writer(log)
    writer.writerow(["step", "loss", "grad_norm", "lr"])

    step, best, start = 0, float("inf"), time.time()
    for epoch in range(args.epochs):
        for state, future in train_loader:
            loss = weighted_mse(model(state), future[:, 0], data.lat_weight)
            optimizer.zero_grad()
            loss.backward()
            norm = torch.nn.utils.clip_grad_norm_(model.parameters(), args.clip)
            optimizer.step()
            scheduler.step()
            step += 1
            writer.writerow([step, loss.item(), norm.item(), scheduler.get_last_lr()[0]])
            if step % args.log_every == 0:
                log.flush()
                print(f"step {step:4d} loss {loss.item():.4f} norm {norm.item():.3f} "
                      f"{(time.time() - start) / step * 1000:.0f} ms/step")
        skill, corr = validate(model, valid_loader, data)
        for k in (0, args.rollout - 1):
            values = skill[k] * data.std
            print(f"epoch {epoch} +{6 * (k + 1):2d} h  " + "  ".join(
                f"{name} {v:.3g} ({c:.3f})" for name, v, c in zip(data.names, values.tolist(), corr[k].tolist())))
        score = skill[-1].mean().item()
        if score < best:
            best = score
            torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch, "score": score},
                       args.out / "best.pt")
    log.close()
    print(f"best score {best:.4f}, {time.time() - start:.1f} s")


if __name__ == "__main__":
    main()
