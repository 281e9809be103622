"""Which taxa are on a reef photograph? Multi-label training."""
import argparse
import os
import time

import torch
from torch.utils.data import DataLoader

from reef_data import ReefQuadrats
from reef_model import AsymmetricLoss, ReefNet


def get_args():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", default="data")
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--batch-size", type=int, default=20)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--weight-decay", type=float, default=1e-2)
    parser.add_argument("--threshold", type=float, default=0.5)
    parser.add_argument("--log-every", type=int, default=8)
    parser.add_argument("--out", default="runs")
    parser.add_argument("--seed", type=int, default=3)
    return parser.parse_args()


@torch.no_grad()
def f1_scores(model, images, target, threshold):
    """Micro and macro F1 of the model in evaluation mode."""
    model.eval()
    guess = (torch.sigmoid(model(images)) > threshold).float()
    hit = (guess * target).sum(0)
    wrong = (guess * (1 - target)).sum(0)
    missed = ((1 - guess) * target).sum(0)
    macro = (2 * hit / (2 * hit + wrong + missed).clamp(min=1)).mean().item()
    micro = (2 * hit.sum() / (2 * hit.sum() + wrong.sum() + missed.sum()).clamp(min=1)).item()
    return micro, macro


@torch.no_grad()
def average_precision(scores, target):
    order = scores.argsort(0, descending=True)
    ranked = target.gather(0, order)
    rank = torch.arange(1, len(ranked) + 1).view(-1, 1)
    precision = ranked.cumsum(0) / rank
    return (precision * ranked).sum(0) / ranked.sum(0).clamp(min=1)


@torch.no_grad()
def validate(model, loader):
    model.eval()
    scores, targets = [], []
    for images, target in loader:
        scores.append(torch.sigmoid(model(images)))
        targets.append(target)
    ap = average_precision(torch.cat(scores), torch.cat(targets))
    return ap.mean().item(), ap


def train_epoch(epoch, model, loader, criterion, optimizer, scheduler, args):
    total, seen = 0.0, 0
    began = time.time()
    for step, (images, target) in enumerate(loader):
        model.train()
        optimizer.zero_grad(set_to_none=True)
        logits = model(images)
        loss = criterion(logits, target)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
        scheduler.step()

        total += loss.item() * len(images)
        seen += len(images)
        micro, macro = f1_scores(model, images, target, args.threshold)
        if step % args.log_every == 0:
            print(f"epoch {epoch} step {step:3d}/{len(loader)} loss {total / seen:.4f} "
                  f"f1 micro {micro:.3f} macro {macro:.3f} lr {scheduler.get_last_lr()[0]:.2e}", flush=True)
    print(f"epoch {epoch} took {time.time() - began:.1f} s, loss {total / seen:.4f}", flush=True)
    return total / seen


def main():
    args = get_args()
    torch.manual_seed(args.seed)
    os.makedirs(args.out, exist_ok=True)

    train_set = ReefQuadrats(args.data, "train")
    val_set = ReefQuadrats(args.data, "val")
    train_loader = DataLoader(train_set, batch_size=args.batch_size, shuffle=True, drop_last=True)
    val_loader = DataLoader(val_set, batch_size=40)

    model = ReefNet(len(train_set.taxa))
    criterion = AsymmetricLoss(train_set.positive_weight())
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=args.weight_decay)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, max_lr=args.lr, total_steps=args.epochs * len(train_loader))
    print(f"{len(train_set)} training photographs, {len(val_set)} for validation, "
          f"{sum(p.numel() for p in model.parameters()):,} parameters")

    best = 0.0
    for epoch in range(args.epochs):
        train_epoch(epoch, model, train_loader, criterion, optimizer, scheduler, args)
        mean_ap, per_taxon = validate(model, val_loader)
        worst = per_taxon.argmin().item()
        print(f"epoch {epoch} validation mAP {mean_ap:.4f}, hardest {train_set.taxa[worst]} "
              f"({per_taxon[worst].item():.3f})", flush=True)
        if mean_ap > best:
            best = mean_ap
            torch.save({"model": model.state_dict(), "epoch": epoch, "map": mean_ap},
                       os.path.join(args.out, "best.pt"))
    print(f"best mAP {best:.4f}")


if __name__ == "__main__":
    main()
