"""Embeddings of sound clips for search, by contrast against a memory of recent batches."""
import argparse
import logging
from pathlib import Path

import torch

from clips import ClipBank, time_mask
from encoder import ClipEncoder
from loss import jaccard, tag_contrast
from memory import CrossBatchMemory

log = logging.getLogger("xbm")


@torch.no_grad()
def recall_at(model, clips, k=5):
    """How often one of the k nearest clips shares at least half of the tags."""
    model.eval()
    vectors = torch.cat([model(part) for part in clips.mel.split(250)])
    similarity = vectors @ vectors.t()
    similarity.fill_diagonal_(-1.0)
    near = similarity.topk(k, dim=1).indices
    related = jaccard(clips.tags, clips.tags).gather(1, near) >= 0.33
    model.train()
    return related.any(1).float().mean().item()


def parse():
    p = argparse.ArgumentParser()
    p.add_argument("--clips", type=int, default=5120)
    p.add_argument("--steps", type=int, default=400)
    p.add_argument("--batch", type=int, default=128)
    p.add_argument("--memory", type=int, default=3072)
    p.add_argument("--lr", type=float, default=1e-3)
    p.add_argument("--eval-every", type=int, default=100)
    p.add_argument("--out", type=Path, default=Path("runs"))
    p.add_argument("--seed", type=int, default=3)
    return p.parse_args()


def main():
    args = parse()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    torch.manual_seed(args.seed)
    train = ClipBank(args.clips, seed=1)
    held_out = ClipBank(500, seed=2)
    model = ClipEncoder()
    memory = CrossBatchMemory(args.memory, dim=128, tags=train.tags.size(1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=1e-4, fused=True)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.steps)
    args.out.mkdir(exist_ok=True)

    # the memory is filled with the vectors of the first encoder before it is used
    with torch.no_grad():
        for mel, tags in train.batches(256):
            memory.push(model(mel), tags)
            if len(memory) >= args.memory:
                break

    step, running, best = 0, 0.0, 0.0
    while step < args.steps:
        for mel, tags in train.batches(args.batch):
            vectors = model(time_mask(mel, 12))
            memory.push(vectors, tags)
            loss = tag_contrast(vectors, tags, *memory.get())
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            schedule.step()
            running += loss.detach()
            step += 1
            if step % 25 == 0:
                log.info("step %4d  loss %.5f", step, running.item() / 25)
                running = 0.0
            if step % args.eval_every == 0:
                recall = recall_at(model, held_out)
                log.info("step %4d  recall@5 %.4f", step, recall)
                if recall > best:
                    best = recall
                    torch.save(model.state_dict(), args.out / "best.pt")
            if step == args.steps:
                break


if __name__ == "__main__":
    main()
