import argparse
import csv
import time

import torch

from blend import BlendModel, TwoTasks
from formulas import compose


def options():
    p = argparse.ArgumentParser(description="Accords and lasting power of perfume formulas")
    p.add_argument("--formulas", type=int, default=60000)
    p.add_argument("--materials", type=int, default=2500)
    p.add_argument("--accords", type=int, default=64)
    p.add_argument("--width", type=int, default=256)
    p.add_argument("--inner", type=int, default=1024)
    p.add_argument("--depth", type=int, default=3)
    p.add_argument("--batch", type=int, default=512)
    p.add_argument("--epochs", type=int, default=14)
    p.add_argument("--lr", type=float, default=1.5e-3)
    p.add_argument("--report", type=int, default=40)
    return p.parse_args()


@torch.inference_mode()
def evaluate(model, archive):
    model.eval()
    hits = found = real = 0.0
    error = 0.0
    for batch in archive.in_order(1024):
        logits, lasting = model(batch)
        said = logits > 0
        hits += (said & (batch.accords > 0)).sum()
        found += said.sum()
        real += batch.accords.sum()
        error += (lasting - batch.lasting).square().sum()
    model.train()
    return (2 * hits / (found + real)).item(), (error / len(archive)).sqrt().item()


def main():
    o = options()
    torch.manual_seed(0)
    train, test = compose(o.formulas, o.materials, o.accords, 100), compose(4000, o.materials, o.accords, 200)
    rate = train.accords.mean(0).clamp(min=1e-3)
    model = BlendModel(o.materials, o.accords, o.width, o.inner, o.depth)
    tasks = TwoTasks(((1 - rate) / rate).clamp(max=8))
    plain = [p for p in (*model.parameters(), *tasks.parameters()) if p.ndim < 2]
    decayed = [p for p in model.parameters() if p.ndim >= 2]
    optimizer = torch.optim.AdamW([{"params": decayed, "weight_decay": 1e-2}, {"params": plain, "weight_decay": 0.0}], lr=o.lr, fused=True)
    steps = o.epochs * (o.formulas // o.batch)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda s: min(1.0, (s + 1) / 100) * max(0.05, 1 - s / steps))
    shuffle = torch.Generator().manual_seed(1)

    with open("history.csv", "w", newline="") as out:
        history = csv.writer(out)
        history.writerow(["epoch", "bce", "mse", "f1", "rmse", "seconds"])
        for epoch in range(o.epochs):
            began, parts = time.perf_counter(), torch.zeros(2)
            for k, batch in enumerate(train.shuffled(o.batch, shuffle), 1):
                loss, both = tasks(*model(batch), batch)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                schedule.step()
                parts += both
                if k % o.report == 0:
                    print(f"{epoch}/{k} bce {both[0].item():.4f} mse {both[1].item():.4f}", flush=True)
            f1, rmse = evaluate(model, test)
            row = [epoch, *(parts / k).tolist(), f1, rmse, time.perf_counter() - began]
            history.writerow([f"{v:.4f}" if isinstance(v, float) else v for v in row])
            out.flush()
            print("epoch {} f1 {:.4f} rmse {:.4f} {:.1f}s".format(epoch, f1, rmse, row[-1]), flush=True)
    torch.save({"model": model.state_dict(), "tasks": tasks.state_dict()}, "blend.pt")


if __name__ == "__main__":
    main()
