import argparse
import random
import time
from pathlib import Path

import numpy as np
import torch
from torch.utils.data import DataLoader
from torch.utils.tensorboard import SummaryWriter

from pose.dataset import FLIP_PAIRS, JointsDataset
from pose.decode import accuracy, final_preds
from pose.loss import JointsMSELoss
from pose.model import PoseNet


def parse_args():
    p = argparse.ArgumentParser(description="Single-person pose estimation with heatmaps")
    p.add_argument("--root", type=Path, default=Path("data/figures"))
    p.add_argument("--out", type=Path, default=Path("runs/pose"))
    p.add_argument("--epochs", type=int, default=10)
    p.add_argument("--batch-size", type=int, default=24)
    p.add_argument("--lr", type=float, default=2e-3)
    p.add_argument("--milestones", type=int, nargs="+", default=[6, 9])
    p.add_argument("--print-freq", type=int, default=10)
    p.add_argument("--seed", type=int, default=4)
    return p.parse_args()


class AverageMeter:
    def __init__(self):
        self.sum, self.count, self.val = 0.0, 0, 0.0

    def update(self, val, n=1):
        self.val = val
        self.sum += val * n
        self.count += n

    @property
    def avg(self):
        return self.sum / self.count if self.count else 0.0


def train_epoch(loader, model, criterion, optimizer, epoch, args, writer):
    model.train()
    batch_time, losses, acc = AverageMeter(), AverageMeter(), AverageMeter()
    end = time.time()
    for i, (images, target, weight, _) in enumerate(loader):
        output = model(images.to(memory_format=torch.channels_last))
        loss = criterion(output, target, weight)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.update(loss.item(), images.size(0))
        _, avg_acc, count = accuracy(output.detach().numpy(), target.numpy())
        acc.update(avg_acc, count)
        batch_time.update(time.time() - end)
        end = time.time()
        if i % args.print_freq == 0:
            print(f"Epoch: [{epoch}][{i}/{len(loader)}] Time {batch_time.val:.3f} ({batch_time.avg:.3f}) "
                  f"Loss {losses.val:.5f} ({losses.avg:.5f}) Accuracy {acc.val:.3f} ({acc.avg:.3f})")
            step = epoch * len(loader) + i
            writer.add_scalar("train_loss", losses.val, step)
            writer.add_scalar("train_acc", acc.val, step)


def flip_back(heatmaps):
    heatmaps = heatmaps.flip(3)
    order = list(range(heatmaps.shape[1]))
    for a, b in FLIP_PAIRS:
        order[a], order[b] = b, a
    return heatmaps[:, order]


@torch.no_grad()
def validate(loader, dataset, model, criterion):
    model.eval()
    losses, preds, index = AverageMeter(), [], []
    stride = np.array(dataset.image_size) / np.array(dataset.heatmap_size)
    for images, target, weight, meta in loader:
        images = images.to(memory_format=torch.channels_last)
        output = (model(images) + flip_back(model(images.flip(3)))) * 0.5
        losses.update(criterion(output, target, weight).item(), images.size(0))
        joints, _ = final_preds(output.numpy(), meta["matrix"].numpy(), stride)
        preds.append(joints)
        index.append(meta["index"].numpy())
    preds, index = np.concatenate(preds), np.concatenate(index)
    truth = np.array([dataset.notes[i]["joints"] for i in index])
    seen = np.array([dataset.notes[i]["visible"] for i in index], bool)
    head = np.linalg.norm(truth[:, 9] - truth[:, 8], axis=-1)
    error = np.linalg.norm(preds - truth, axis=-1) / head[:, None]
    return losses.avg, float((error[seen] < 0.5).mean())


def main():
    args = parse_args()
    random.seed(args.seed)
    torch.manual_seed(args.seed)
    args.out.mkdir(parents=True, exist_ok=True)
    train_set = JointsDataset(args.root, "train", train=True)
    valid_set = JointsDataset(args.root, "valid")
    train_loader = DataLoader(train_set, args.batch_size, shuffle=True)
    valid_loader = DataLoader(valid_set, args.batch_size)

    model = PoseNet(train_set.num_joints).to(memory_format=torch.channels_last)
    criterion = JointsMSELoss()
    optimizer = torch.optim.Adam(model.parameters(), args.lr)
    scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, args.milestones, 0.1)
    writer = SummaryWriter(args.out)
    print(f"{len(train_set)} figures, {sum(p.numel() for p in model.parameters()):,} parameters")

    best, start = 0.0, time.time()
    for epoch in range(args.epochs):
        train_epoch(train_loader, model, criterion, optimizer, epoch, args, writer)
        scheduler.step()
        loss, pck = validate(valid_loader, valid_set, model, criterion)
        writer.add_scalar("valid_pckh", pck, epoch)
        print(f"Epoch {epoch}: valid loss {loss:.5f} PCKh@0.5 {pck:.4f}")
        if pck > best:
            best = pck
            torch.save({"epoch": epoch, "state_dict": model.state_dict(), "optimizer": optimizer.state_dict(), "pck": pck},
                       args.out / "model_best.pth.tar")
    writer.close()
    print(f"best PCKh {best:.4f}, {time.time() - start:.1f} s")


if __name__ == "__main__":
    main()
