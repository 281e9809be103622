"""Where has iron gall ink eaten into the paper? Training on multispectral folios."""
import argparse
import csv
import math
import time

import torch
from torch.utils.data import DataLoader

from data import RandomCrops, load_folios, tile
from evaluate import evaluate
from losses import structure_loss
from model import HarmNet


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--folios", default="folios")
    parser.add_argument("--held-out", type=int, default=2)
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--crop", type=int, default=64)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--clip", type=float, default=0.5)
    parser.add_argument("--seed", type=int, default=11)
    parser.add_argument("--out", default="harmnet.pt")
    parser.add_argument("--log", default="log.csv")
    return parser.parse_args()


def learning_rate(step, total, warmup=60):
    if step < warmup:
        return (step + 1) / warmup
    return 0.5 * (1 + math.cos(math.pi * (step - warmup) / max(1, total - warmup)))


def main():
    args = arguments()
    torch.manual_seed(args.seed)
    folios = load_folios(args.folios)
    held_out = tile(folios[:args.held_out], args.crop)
    crops = RandomCrops(folios[args.held_out:], args.crop, per_folio=12, seed=args.seed)
    loader = DataLoader(crops, args.batch, shuffle=True, drop_last=True)

    model = HarmNet(size=(args.crop, args.crop)).to(memory_format=torch.channels_last)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=1e-4)
    total = args.epochs * len(loader)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: learning_rate(step, total))

    best = 0.0
    with open(args.log, "w", newline="") as file:
        log = csv.writer(file)
        log.writerow(["epoch", "loss", "map1", "map2", "map3", "mae", "iou", "max_f", "mean_f", "seconds"])
        for epoch in range(args.epochs):
            start = time.perf_counter()
            sums = torch.zeros(4)
            for images, mask in loader:
                maps = model(images.to(memory_format=torch.channels_last))
                parts = [structure_loss(logits, mask) for logits in maps]
                loss = parts[0] + parts[1] + parts[2]
                optimizer.zero_grad(set_to_none=True)
                loss.backward()
                torch.nn.utils.clip_grad_value_(model.parameters(), args.clip)
                optimizer.step()
                schedule.step()
                sums += torch.stack([loss, *parts]).detach()
            means = (sums / len(loader)).tolist()
            scores = evaluate(model, *held_out)
            seconds = time.perf_counter() - start
            log.writerow([epoch, *means, *scores.values(), round(seconds, 2)])
            file.flush()
            print(
                f"epoch {epoch:2d}  loss {means[0]:.4f}  mae {scores['mae']:.4f}  iou {scores['iou']:.4f}  "
                f"max F {scores['max_f']:.4f}  {seconds:.1f} s",
                flush=True,
            )
            if scores["max_f"] > best:
                best = scores["max_f"]
                torch.save({"model": model.state_dict(), "epoch": epoch, **scores}, args.out)
    print(f"best max F {best:.4f}")


if __name__ == "__main__":
    main()
