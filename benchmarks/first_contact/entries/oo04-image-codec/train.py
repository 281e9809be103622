import argparse
import csv
import math
import os
import time

import numpy as np
import torch

from data import CropLoader
from model import HyperpriorCodec, channels_last, rate_distortion


def parse():
    p = argparse.ArgumentParser(description="Learned image compression with a mean-scale hyperprior")
    p.add_argument("--data", default="data")
    p.add_argument("--out", default="exp")
    p.add_argument("--epochs", type=int, default=6)
    p.add_argument("--batch-size", type=int, default=8)
    p.add_argument("--crop", type=int, default=128)
    p.add_argument("--lam", type=float, default=0.013)
    p.add_argument("--lr", type=float, default=1e-3)
    p.add_argument("--clip", type=float, default=1.0)
    p.add_argument("--log-every", type=int, default=10)
    p.add_argument("--seed", type=int, default=9)
    return p.parse_args()


@torch.inference_mode()
def evaluate(model, pictures, lam, batch_size=4):
    model.eval()
    rows = []
    for batch in pictures.split(batch_size):
        x = batch.float().div(255).contiguous(memory_format=torch.channels_last)
        x_hat, py, pz = model(x)
        loss, bpp, mse = rate_distortion(x, (x_hat.clamp(0, 1), py, pz), lam)
        rows.append((loss.item(), bpp.item(), 10 * math.log10(1 / mse.item())))
    model.train()
    return [sum(column) / len(rows) for column in zip(*rows)]


def main():
    args = parse()
    os.makedirs(args.out, exist_ok=True)
    torch.manual_seed(args.seed)
    loader = CropLoader(os.path.join(args.data, "train.npy"), args.crop, args.batch_size, args.seed)
    validation = torch.from_numpy(np.load(os.path.join(args.data, "val.npy")))
    model = channels_last(HyperpriorCodec())
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr, fused=True)
    scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, [max(1, int(args.epochs * 0.8))], 0.3)
    print(f"{sum(p.numel() for p in model.parameters()) / 1e6:.2f}M parameters, {len(loader)} steps an epoch")

    log = open(os.path.join(args.out, "log.csv"), "w", newline="")
    writer = csv.writer(log)
    writer.writerow(["step", "loss", "bpp", "psnr", "grad_norm"])
    step, best, start = 0, float("inf"), time.time()
    for epoch in range(args.epochs):
        for x in loader:
            loss, bpp, mse = rate_distortion(x, model(x), args.lam)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            norm = torch.nn.utils.clip_grad_norm_(model.parameters(), args.clip)
            optimizer.step()
            step += 1
            writer.writerow([step, loss.item(), bpp.item(), -10 * math.log10(mse.item()), norm.item()])
            if step % args.log_every == 0:
                print(f"step {step:4d} loss {loss.item():.4f} bpp {bpp.item():.3f} mse {mse.item():.5f} [{time.time() - start:.1f}s]", flush=True)
        scheduler.step()
        loss, bpp, psnr = evaluate(model, validation, args.lam)
        print(f"epoch {epoch}: val loss {loss:.4f} bpp {bpp:.3f} psnr {psnr:.2f} dB", flush=True)
        if loss < best:
            best = loss
            torch.save({"model": model.state_dict(), "epoch": epoch, "loss": loss}, os.path.join(args.out, "best.pt"))
    log.close()


if __name__ == "__main__":
    main()
