import argparse
import time

import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader

from boxes import assign, box_iou, detect, encode, make_anchors
from net import Detector, focal_loss
from shapes import CLASSES, ShapeScenes


def predict(model, images):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        logits, deltas = model(images.contiguous(memory_format=torch.channels_last))
    return logits.float(), deltas.float()


def recall(logits, deltas, anchors, targets):
    """share of the true objects found with the right class at IoU 0.5"""
    found = total = 0
    for lg, dl, t in zip(logits, deltas, targets):
        t = t[t[:, 4] >= 0]
        boxes, _, c = detect(lg, dl, anchors)
        hit = (box_iou(t[:, :4], boxes) > 0.5) & (t[:, 4:].long() == c[None])
        found += hit.any(1).sum().item()
        total += len(t)
    return found / max(total, 1)


def detection_loss(logits, deltas, anchors, targets):
    label, row = assign(anchors, targets)
    positive = label >= 0
    n = positive.sum().clamp(min=1)
    one_hot = F.one_hot(label.clamp(min=0), len(CLASSES)) * positive[..., None]
    cls = (focal_loss(logits, one_hot.float()).sum(-1) * (label != -2)).sum() / n
    b, a = positive.nonzero(as_tuple=True)
    goal = encode(targets[b, row[b, a], :4], anchors[a])
    return cls, F.smooth_l1_loss(deltas[b, a], goal, beta=0.5, reduction="sum") / n


@torch.no_grad()
def evaluate(model, anchors, loader):
    model.eval()
    scores = []
    for images, targets in loader:
        logits, deltas = predict(model, images)
        scores.append(recall(logits, deltas, anchors, targets))
    model.train()
    return sum(scores) / len(scores)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=15)
    ap.add_argument("--batch-size", type=int, default=16)
    ap.add_argument("--lr", type=float, default=2e-3)
    ap.add_argument("--log-every", type=int, default=20)
    args = ap.parse_args()
    torch.manual_seed(1)
    size = 96
    train_loader = DataLoader(ShapeScenes(1280, size, 1), batch_size=args.batch_size, shuffle=True)
    val_loader = DataLoader(ShapeScenes(64, size, 2), batch_size=32)
    anchors = make_anchors(size)
    model = Detector(len(CLASSES)).to(memory_format=torch.channels_last)
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=1e-4)
    sched = torch.optim.lr_scheduler.OneCycleLR(opt, args.lr, total_steps=args.epochs * len(train_loader))

    step, t0 = 0, time.time()
    for epoch in range(args.epochs):
        for images, targets in train_loader:
            logits, deltas = predict(model, images)
            cls, box = detection_loss(logits, deltas, anchors, targets)
            loss = cls + box
            opt.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            opt.step()
            sched.step()
            step += 1
            train_recall = recall(logits.detach(), deltas.detach(), anchors, targets)
            if step % args.log_every == 0:
                print(f"step {step} cls {cls.item():.3f} box {box.item():.3f} recall {train_recall:.2f} "
                      f"{(time.time() - t0) / step * 1e3:.0f} ms/step", flush=True)
        print(f"epoch {epoch} val recall {evaluate(model, anchors, val_loader):.3f}", flush=True)
    torch.save(model.state_dict(), "detector.pt")


if __name__ == "__main__":
    main()
