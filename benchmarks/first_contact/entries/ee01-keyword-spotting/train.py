import argparse
import json
import logging
import time
from pathlib import Path

import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader

from kws.dataset import SpeechCommands
from kws.models import Res8

log = logging.getLogger("kws")


def parse_args():
    parser = argparse.ArgumentParser(description="Train a keyword spotter")
    parser.add_argument("--data", default="data")
    parser.add_argument("--out", default="runs/res8")
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--weight-decay", type=float, default=1e-4)
    parser.add_argument("--channels", type=int, default=32)
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--log-every", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def train_epoch(model, loader, optimizer, scheduler, epoch, log_every):
    model.train()
    running = correct = seen = 0
    for step, (features, target) in enumerate(loader, 1):
        logits = model(features)
        loss = F.cross_entropy(logits, target, label_smoothing=0.05)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        running += loss.item() * len(target)
        correct += (logits.argmax(1) == target).sum().item()
        seen += len(target)
        if step % log_every == 0:
            log.info("epoch %d step %d/%d loss %.5f acc %.3f lr %.5f", epoch, step, len(loader),
                     running / seen, correct / seen, scheduler.get_last_lr()[0])
    return running / seen, correct / seen


@torch.no_grad()
def evaluate(model, loader, num_classes):
    model.eval()
    confusion = torch.zeros(num_classes, num_classes, dtype=torch.long)
    loss = 0.0
    for features, target in loader:
        logits = model(features)
        loss += F.cross_entropy(logits, target, reduction="sum").item()
        for truth, guess in zip(target.tolist(), logits.argmax(1).tolist()):
            confusion[truth, guess] += 1
    return loss / len(loader.dataset), confusion.diag().sum().item() / confusion.sum().item(), confusion


def main():
    args = parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", datefmt="%H:%M:%S")
    torch.manual_seed(args.seed)
    out = Path(args.out)
    out.mkdir(parents=True, exist_ok=True)

    train_set = SpeechCommands(args.data, "train", seed=args.seed)
    val_set = SpeechCommands(args.data, "validation")
    train_loader = DataLoader(train_set, args.batch_size, shuffle=True, drop_last=True,
                              num_workers=args.workers)
    val_loader = DataLoader(val_set, args.batch_size, num_workers=args.workers)
    log.info("%d training clips, %d validation clips, %d words", len(train_set), len(val_set),
             len(train_set.labels))

    model = Res8(len(train_set.labels), args.channels)
    optimizer = torch.optim.AdamW(model.parameters(), args.lr, weight_decay=args.weight_decay)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, args.lr, args.epochs * len(train_loader))

    best = 0.0
    history = []
    for epoch in range(1, args.epochs + 1):
        began = time.time()
        loss, acc = train_epoch(model, train_loader, optimizer, scheduler, epoch, args.log_every)
        val_loss, val_acc, confusion = evaluate(model, val_loader, len(train_set.labels))
        log.info("epoch %d train %.5f %.3f val %.5f %.3f (%.1f s)", epoch, loss, acc, val_loss, val_acc,
                 time.time() - began)
        history.append({"epoch": epoch, "loss": loss, "acc": acc, "val_loss": val_loss, "val_acc": val_acc})
        state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch,
                 "labels": train_set.labels}
        torch.save(state, out / "last.pt")
        if val_acc > best:
            best = val_acc
            torch.save(state, out / "best.pt")
    (out / "history.json").write_text(json.dumps(history, indent=2))
    worst = confusion.diag().float() / confusion.sum(1)
    for label, recall in sorted(zip(train_set.labels, worst.tolist()), key=lambda pair: pair[1])[:3]:
        log.info("hardest: %s recall %.2f", label, recall)


if __name__ == "__main__":
    main()
