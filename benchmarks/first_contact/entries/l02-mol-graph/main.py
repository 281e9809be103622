"""Regress a molecular property with a small message-passing network."""
import argparse
import time

import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader

from data import MoleculeSet, collate
from model import MolNet


@torch.inference_mode()
def mean_abs_error(model, loader):
    model.eval()
    err, count = 0.0, 0
    for node, edge_index, edge_type, graph, sizes, y in loader:
        pred = model(node, edge_index, edge_type, graph, sizes)
        err += (pred - y).abs().sum()
        count += len(y)
    model.train()
    return (err / count).item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--train-size", type=int, default=3200)
    ap.add_argument("--val-size", type=int, default=320)
    ap.add_argument("--batch-size", type=int, default=32)
    ap.add_argument("--epochs", type=int, default=40)
    ap.add_argument("--dim", type=int, default=64)
    ap.add_argument("--layers", type=int, default=4)
    ap.add_argument("--lr", type=float, default=1e-3)
    ap.add_argument("--clip", type=float, default=5.0)
    ap.add_argument("--seed", type=int, default=0)
    args = ap.parse_args()

    torch.manual_seed(args.seed)
    train_set = MoleculeSet(args.train_size, seed=args.seed)
    val_set = MoleculeSet(args.val_size, seed=args.seed + 1)
    train_loader = DataLoader(train_set, args.batch_size, shuffle=True, drop_last=True, collate_fn=collate)
    val_loader = DataLoader(val_set, 2 * args.batch_size, collate_fn=collate)

    model = MolNet(args.dim, args.layers)
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=1e-4, fused=True)
    sched = torch.optim.lr_scheduler.OneCycleLR(opt, args.lr, total_steps=args.epochs * len(train_loader))
    for epoch in range(args.epochs):
        start = time.time()
        running = torch.zeros(())
        for node, edge_index, edge_type, graph, sizes, y in train_loader:
            pred = model(node, edge_index, edge_type, graph, sizes)
            loss = F.smooth_l1_loss(pred, y)
            opt.zero_grad(set_to_none=True)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), args.clip)
            opt.step()
            sched.step()
            running += loss.detach()
        mae = mean_abs_error(model, val_loader)
        print(f"epoch {epoch:3d} loss {running.item() / len(train_loader):.4f} val mae {mae:.4f} "
              f"({time.time() - start:.1f} s)", flush=True)


if __name__ == "__main__":
    main()
