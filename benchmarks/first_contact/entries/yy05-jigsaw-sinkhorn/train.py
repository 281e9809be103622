"""Learn to put shuffled pieces of a painting back in order (Gumbel-Sinkhorn without the noise)."""
import argparse
import time

import torch
import torch.nn.functional as F

from model import SinkhornJigsaw
from puzzle import batches, load_pieces, shuffled


def options():
    p = argparse.ArgumentParser()
    p.add_argument("--data", default="paintings.npz")
    p.add_argument("--grid", type=int, default=3)
    p.add_argument("--batch-size", type=int, default=128)
    p.add_argument("--epochs", type=int, default=20)
    p.add_argument("--lr", type=float, default=4e-4)
    p.add_argument("--weight-decay", type=float, default=0.01)
    p.add_argument("--log-every", type=int, default=21)
    p.add_argument("--seed", type=int, default=0)
    return p.parse_args()


@torch.inference_mode()
def validate(model, pieces):
    model.eval()
    generator = torch.Generator().manual_seed(99)
    right, solved = 0, 0
    for chunk in pieces.split(312):
        x, order = shuffled(chunk, generator)
        hit = model(x).argmax(dim=2) == order
        right += hit.sum().item()
        solved += hit.all(dim=1).sum().item()
    model.train()
    return right / (pieces.shape[0] * pieces.shape[1]), solved / pieces.shape[0]


def main():
    args = options()
    torch.manual_seed(args.seed)
    train_pieces, val_pieces = load_pieces(args.data, args.grid)
    model = SinkhornJigsaw(args.grid ** 2, train_pieces.shape[2])
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=args.weight_decay, fused=True)
    per_epoch = len(train_pieces) // args.batch_size
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, args.lr, total_steps=args.epochs * per_epoch)
    print(f"{len(train_pieces)} train, {len(val_pieces)} val, {per_epoch} steps an epoch")

    best = 0.0
    for epoch in range(args.epochs):
        start = time.time()
        for step, (x, order) in enumerate(batches(train_pieces, args.batch_size), 1):
            log_p = model(x)
            loss = F.nll_loss(log_p.flatten(0, 1), order.flatten())
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            scheduler.step()
            if step % args.log_every == 0:
                print(f"epoch {epoch} step {step}/{per_epoch} loss {loss.item():.4f}", flush=True)

        placed, solved = validate(model, val_pieces)
        print(f"epoch {epoch}: placed {placed:.3f} solved {solved:.3f} ({time.time() - start:.1f}s)", flush=True)
        if solved >= best:
            best = solved
            torch.save(model.state_dict(), "jigsaw.pt")


if __name__ == "__main__":
    main()
