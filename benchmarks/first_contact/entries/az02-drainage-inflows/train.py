import argparse
import json
import os
import time

import torch
import torch.nn as nn
from torch.utils.data import DataLoader

from data import Windows, read_catchment
from layers import SewerNet


class Meter:
    def __init__(self):
        self.reset()

    def reset(self):
        self.total, self.count = 0.0, 0

    def update(self, value, n=1):
        self.total += value * n
        self.count += n

    @property
    def mean(self):
        return self.total / max(self.count, 1)


def validate(model, loader, level_loss, flag_loss):
    model.eval()
    level_meter, flag_meter = Meter(), Meter()
    with torch.no_grad():
        for batch in loader:
            level, flag = model(batch["level"], batch["rain"])
            level_meter.update(level_loss(level, batch["future"]).item(), len(level))
            flag_meter.update(flag_loss(flag, batch["surcharge"]).item(), len(level))
    model.train()
    return level_meter.mean, flag_meter.mean


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", default="catchment.npz")
    parser.add_argument("--history", type=int, default=24)
    parser.add_argument("--ahead", type=int, default=4)
    parser.add_argument("--batch-size", type=int, default=8)
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--flag-weight", type=float, default=0.5)
    parser.add_argument("--log-every", type=int, default=25)
    parser.add_argument("--run", default="run")
    args = parser.parse_args()

    torch.manual_seed(77)
    os.makedirs(args.run, exist_ok=True)
    adj, level, rain = read_catchment(args.data)
    split = int(len(level) * 0.9)
    train_set = Windows(level[:split], rain[:split], args.history, args.ahead, limit=2.0)
    valid_set = Windows(level[split:], rain[split:], args.history, args.ahead, limit=2.0)
    train_loader = DataLoader(train_set, batch_size=args.batch_size, shuffle=True, drop_last=True)
    valid_loader = DataLoader(valid_set, batch_size=16)

    model = SewerNet(adj, args.history, ahead=args.ahead)
    level_loss, flag_loss = nn.SmoothL1Loss(), nn.BCEWithLogitsLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr, weight_decay=1e-5)
    level_meter, flag_meter = Meter(), Meter()
    history, step = [], 0
    for epoch in range(args.epochs):
        start = time.time()
        for batch in train_loader:
            optimizer.zero_grad()
            level_pred, flag_pred = model(batch["level"], batch["rain"])
            loss_level = level_loss(level_pred, batch["future"])
            loss_flag = args.flag_weight * flag_loss(flag_pred, batch["surcharge"])
            loss_level.backward(retain_graph=True)
            loss_flag.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            optimizer.step()

            level_meter.update(loss_level.item(), len(level_pred))
            flag_meter.update(loss_flag.item(), len(flag_pred))
            step += 1
            if step % args.log_every == 0:
                print(f"[{epoch}] step {step} level {level_meter.mean:.4f} flag {flag_meter.mean:.4f}", flush=True)
                history.append({"step": step, "level": level_meter.mean, "flag": flag_meter.mean})
                level_meter.reset()
                flag_meter.reset()
        valid_level, valid_flag = validate(model, valid_loader, level_loss, flag_loss)
        print(f"epoch {epoch}: valid level {valid_level:.4f} flag {valid_flag:.4f} ({time.time() - start:.0f} s)", flush=True)
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch}, os.path.join(args.run, "last.pt"))
        with open(os.path.join(args.run, "history.json"), "w") as f:
            json.dump(history, f)


if __name__ == "__main__":
    main()
