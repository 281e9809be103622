import argparse
import json
import math
import time
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F

from data import BatchLoader, channel_stats, load_images, normalise
from mae import MaskedAutoencoder


def parse_args():
    parser = argparse.ArgumentParser(description="Masked autoencoder on galaxy cut-outs")
    parser.add_argument("--data", default="data")
    parser.add_argument("--out", default="runs/mae")
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--lr", type=float, default=6e-4)
    parser.add_argument("--warmup", type=int, default=40)
    parser.add_argument("--log-every", type=int, default=25)
    parser.add_argument("--neighbours", type=int, default=15)
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


def schedule(step, warmup, total):
    if step < warmup:
        return (step + 1) / warmup
    return 0.5 * (1 + math.cos(math.pi * (step - warmup) / max(1, total - warmup)))


@torch.inference_mode()
def held_out_loss(model, images, mean, std, batch_size):
    model.eval()
    total = sum(model(normalise(part, mean, std)).item() * len(part) for part in images.split(batch_size))
    model.train()
    return total / len(images)


@torch.inference_mode()
def knn_accuracy(model, images, labels, mean, std, k):
    model.eval()
    features = torch.cat([model.represent(normalise(part, mean, std)) for part in images.split(100)])
    features = F.normalize(features, dim=1)
    similarity = features @ features.T
    similarity.fill_diagonal_(-2)
    votes = labels[similarity.topk(k, dim=1).indices]
    return (votes.mode(dim=1).values == labels).float().mean().item()


def main():
    args = parse_args()
    torch.manual_seed(args.seed)
    out = Path(args.out)
    out.mkdir(parents=True, exist_ok=True)

    images = load_images(args.data, "train")
    probe = load_images(args.data, "probe")
    labels = torch.from_numpy(np.load(Path(args.data) / "probe_labels.npy"))
    mean, std = channel_stats(images)
    train_images, held_out = images[256:], images[:256]
    loader = BatchLoader(train_images, args.batch_size, mean, std)

    model = MaskedAutoencoder()
    decay = [p for p in model.parameters() if p.ndim > 1]
    plain = [p for p in model.parameters() if p.ndim <= 1]
    optimizer = torch.optim.AdamW(
        [{"params": decay, "weight_decay": 0.05}, {"params": plain, "weight_decay": 0.0}],
        lr=args.lr, betas=(0.9, 0.95), fused=True)
    total = args.epochs * len(loader)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda s: schedule(s, args.warmup, total))
    print(f"{sum(p.numel() for p in model.parameters()) / 1e6:.2f} M parameters, {total} steps")

    step = 0
    for epoch in range(1, args.epochs + 1):
        start = time.time()
        running = []
        for batch in loader:
            loss = model(batch)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            scheduler.step()
            running.append(loss.item())
            step += 1
            if step % args.log_every == 0:
                print(f"step {step:4d}  loss {sum(running[-args.log_every:]) / len(running[-args.log_every:]):.4f}  lr {scheduler.get_last_lr()[0]:.2e}", flush=True)
        held = held_out_loss(model, held_out, mean, std, args.batch_size)
        print(f"epoch {epoch}  train {sum(running) / len(running):.4f}  held out {held:.4f}  {time.time() - start:.1f} s", flush=True)
        torch.save({"model": model.state_dict(), "epoch": epoch}, out / "last.pt")

    accuracy = knn_accuracy(model, probe, labels, mean, std, args.neighbours)
    print(f"nearest neighbours: {accuracy:.3f}")
    with open(out / "result.json", "w") as f:
        json.dump({"held_out": held, "knn": accuracy, "steps": step}, f)


if __name__ == "__main__":
    main()
