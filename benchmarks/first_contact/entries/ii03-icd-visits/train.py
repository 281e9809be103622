"""Predict the problem groups of the next admission from the coded history."""
import argparse
import json
import logging
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader

from ehr.dataset import VisitCollate, VisitDataset, read_patients, split
from ehr.metrics import per_label, recall_at
from ehr.model import Retain

logger = logging.getLogger("ehr")


def arguments():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--data", default="data")
    p.add_argument("--save", type=Path, default=Path("save"))
    p.add_argument("--max-visits", type=int, default=30)
    p.add_argument("--batch-size", type=int, default=32)
    p.add_argument("--epochs", type=int, default=5)
    p.add_argument("--eval-every", type=int, default=50)
    p.add_argument("--lr", type=float, default=1e-3)
    p.add_argument("--l2", type=float, default=1e-4)
    p.add_argument("--val-fraction", type=float, default=0.08)
    p.add_argument("--patience", type=int, default=10)
    p.add_argument("--seed", type=int, default=0)
    return p.parse_args()


@torch.inference_mode()
def validate(model, loader):
    model.eval()
    truth, score, losses = [], [], []
    for x, lengths, y in loader:
        logits, _ = model(x, lengths)
        losses.append(F.binary_cross_entropy_with_logits(logits, y).item())
        truth.append(y.numpy())
        score.append(logits.sigmoid().numpy())
    truth, score = np.concatenate(truth), np.concatenate(score)
    auroc, auprc = per_label(truth, score)
    model.train()
    return {"loss": float(np.mean(losses)), "auroc": float(auroc.mean()), "auprc": float(auprc.mean()), "recall@10": recall_at(truth, score, 10)}


def main():
    args = arguments()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    torch.manual_seed(args.seed)
    np.random.seed(args.seed)
    args.save.mkdir(exist_ok=True)

    patients, n_codes, n_groups = read_patients(args.data)
    train_patients, val_patients = split(patients, args.val_fraction, args.seed)
    collate = VisitCollate(n_codes)
    train_set = VisitDataset(train_patients, n_groups, args.max_visits)
    val_set = VisitDataset(val_patients, n_groups, args.max_visits)
    train_loader = DataLoader(train_set, args.batch_size, shuffle=True, collate_fn=collate, drop_last=True)
    val_loader = DataLoader(val_set, args.batch_size, collate_fn=collate)
    logger.info("%d training and %d validation patients, %d codes", len(train_set), len(val_set), n_codes)

    model = Retain(n_codes, n_groups)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr, weight_decay=args.l2, fused=True)
    best, waited, step, history = 0.0, 0, 0, []
    for epoch in range(args.epochs):
        for x, lengths, y in train_loader:
            logits, _ = model(x, lengths)
            loss = F.binary_cross_entropy_with_logits(logits, y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
            if step % 10 == 0:
                logger.info("epoch %d step %d loss %.4f", epoch, step, loss.item())
            if step % args.eval_every == 0:
                result = validate(model, val_loader)
                history.append({"step": step, **result})
                logger.info("step %d validation %s", step, " ".join(f"{k} {v:.4f}" for k, v in result.items()))
                if result["auroc"] > best:
                    best, waited = result["auroc"], 0
                    torch.save(model.state_dict(), args.save / "retain.pt")
                else:
                    waited += 1
        if waited >= args.patience:
            break
    (args.save / "history.json").write_text(json.dumps(history, indent=1))


if __name__ == "__main__":
    main()
