"""Facies of a seismic volume, section by section (U-Net)."""
import argparse
import time
from pathlib import Path

import torch
from torch import nn
from torch.utils.data import DataLoader
from torch.utils.tensorboard import SummaryWriter

from facies.scores import Confusion
from facies.unet import UNet
from facies.volume import CLASSES, SectionPatches, Sections, load_volume


def get_parser():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default="data")
    parser.add_argument("--logdir", type=Path, default=Path("runs"))
    parser.add_argument("--patch", type=int, default=96)
    parser.add_argument("--batch_size", type=int, default=4)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--patches_per_epoch", type=int, default=240)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--seed", type=int, default=7)
    return parser


@torch.inference_mode()
def validate(model, loader, loss_fn):
    model.eval()
    confusion, total = Confusion(len(CLASSES)), 0.0
    for x, y in loader:
        logits = model(x.to(memory_format=torch.channels_last))
        total += loss_fn(logits, y).item()
        confusion.update(logits.argmax(1), y)
    model.train()
    return total / len(loader), confusion.summary()


def main():
    args = get_parser().parse_args()
    torch.manual_seed(args.seed)
    amplitude, facies = load_volume(args.data)
    n = len(amplitude)
    held_out = range(10, n, 40)
    training = [i for i in range(n) if all(abs(i - h) > 2 for h in held_out)]
    train_loader = DataLoader(SectionPatches(amplitude, facies, training, args.patch, args.patches_per_epoch), args.batch_size, drop_last=True)
    val_loader = DataLoader(Sections(amplitude, facies, held_out), 2)

    counts = torch.bincount(facies[training].flatten(), minlength=len(CLASSES)).float()
    weight = counts.sum() / (len(CLASSES) * counts)
    loss_fn = nn.CrossEntropyLoss(weight=weight.sqrt())
    model = UNet(len(CLASSES)).to(memory_format=torch.channels_last)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, fused=True)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, 3 * args.lr, epochs=args.epochs, steps_per_epoch=len(train_loader))
    writer = SummaryWriter(args.logdir)

    step, best = 0, 0.0
    for epoch in range(args.epochs):
        start, running = time.time(), 0.0
        for x, y in train_loader:
            loss = loss_fn(model(x.to(memory_format=torch.channels_last)), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            scheduler.step()
            running += loss.item()
            step += 1
            writer.add_scalar("train/loss", loss.item(), step)
            writer.add_scalar("train/lr", scheduler.get_last_lr()[0], step)
        val_loss, scores = validate(model, val_loader, loss_fn)
        writer.add_scalar("val/loss", val_loss, step)
        for name, value in scores.items():
            writer.add_scalar(f"val/{name}", value, step)
        print(f"epoch {epoch} loss {running / len(train_loader):.4f} val {val_loss:.4f} " + " ".join(f"{k} {v:.4f}" for k, v in scores.items())
              + f" {time.time() - start:.1f} s", flush=True)
        if scores["mean_iou"] > best:
            best = scores["mean_iou"]
            torch.save(model.state_dict(), args.logdir / "best.pt")
    writer.close()


if __name__ == "__main__":
    main()
