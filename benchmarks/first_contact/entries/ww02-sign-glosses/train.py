"""Gloss-to-text translation with a small Transformer.

    python train.py --epochs 2
"""
import argparse
import time

import torch
from torch import nn

from corpus import PAD, build
from losses import LabelSmoothing
from transformer import GlossTransformer


def noam(step, dim, warmup, factor=1.0):
    step = max(step, 1)
    return factor * dim ** -0.5 * min(step ** -0.5, step * warmup ** -1.5)


def run_batch(model, criterion, source, target):
    """Summed loss and number of target words of one batch."""
    inputs, labels = target[:, :-1], target[:, 1:]
    logits = model(source, inputs)
    words = (labels != PAD).sum()
    loss = criterion(logits.reshape(-1, logits.size(-1)), labels.reshape(-1))
    return loss, words


@torch.no_grad()
def evaluate(model, loader, criterion, device):
    model.eval()
    total, words = 0.0, 0
    for source, target in loader:
        loss, count = run_batch(model, criterion, source.to(device), target.to(device))
        total += loss.item()
        words += count.item()
    return total / words


def show_samples(model, pairs, loader, target_vocab, device, count=4):
    model.eval()
    source = torch.stack([loader.dataset[index][0] for index in range(count)]).to(device)
    for (gloss, text), ids in zip(pairs, model.greedy(source, max_len=20).tolist()):
        print("   ", " ".join(gloss), "|", " ".join(text), "->", target_vocab.decode(ids))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", default=".")
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--max-len", type=int, default=40)
    parser.add_argument("--dim", type=int, default=192)
    parser.add_argument("--layers", type=int, default=3)
    parser.add_argument("--warmup", type=int, default=150)
    parser.add_argument("--smoothing", type=float, default=0.1)
    parser.add_argument("--log-every", type=int, default=20)
    parser.add_argument("--out", default="gloss2text.pt")
    args = parser.parse_args()

    torch.manual_seed(0)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    train_loader, dev_loader, source_vocab, target_vocab, dev_pairs = build(args.data, args.batch_size, args.max_len)
    print(f"{len(source_vocab)} glosses, {len(target_vocab)} words, {len(train_loader)} steps an epoch")

    model = GlossTransformer(len(source_vocab), len(target_vocab), dim=args.dim, layers=args.layers).to(device)
    criterion = LabelSmoothing(len(target_vocab), PAD, args.smoothing)
    optimizer = torch.optim.Adam(model.parameters(), lr=1.0, betas=(0.9, 0.98), eps=1e-9)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: noam(step, args.dim, args.warmup))

    step = 0
    for epoch in range(args.epochs):
        model.train()
        began, total, words = time.time(), 0.0, 0
        for source, target in train_loader:
            source, target = source.to(device), target.to(device)
            loss, count = run_batch(model, criterion, source, target)
            optimizer.zero_grad()
            (loss / count).backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            scheduler.step()
            step += 1
            total += loss.item()
            words += count.item()
            if step % args.log_every == 0:
                speed = words / (time.time() - began)
                print(f"epoch {epoch} step {step}: loss {total / words:.4f}, {speed:.0f} words/s")
        dev_loss = evaluate(model, dev_loader, criterion, device)
        print(f"epoch {epoch}: train {total / words:.4f} dev {dev_loss:.4f}")
        show_samples(model, dev_pairs, dev_loader, target_vocab, device)
        torch.save(model.state_dict(), args.out)


if __name__ == "__main__":
    main()
