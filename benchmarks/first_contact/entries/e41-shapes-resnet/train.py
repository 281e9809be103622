"""Small residual network on synthetic 32x32 pictures of coloured shapes."""
import argparse
import math
import time

import torch
import torch.nn as nn
import torch.nn.functional as F


def get_args():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=9)
    p.add_argument("--batch-size", type=int, default=64)
    p.add_argument("--lr", type=float, default=0.1)
    p.add_argument("--train-size", type=int, default=5120)
    p.add_argument("--val-size", type=int, default=768)
    p.add_argument("--width", type=int, default=24)
    p.add_argument("--log-every", type=int, default=20)
    p.add_argument("--seed", type=int, default=1)
    return p.parse_args()


def draw_shapes(n, gen):
    """n pictures with one of eight kinds of blobs on a noisy ground, and their labels."""
    yy, xx = torch.meshgrid(torch.linspace(-1, 1, 32), torch.linspace(-1, 1, 32), indexing="ij")
    labels = torch.randint(0, 8, (n,), generator=gen)
    cx = (torch.rand(n, 1, 1, generator=gen) - 0.5) * 0.8
    cy = (torch.rand(n, 1, 1, generator=gen) - 0.5) * 0.8
    size = 0.35 + 0.3 * torch.rand(n, 1, 1, generator=gen)
    dx, dy = (xx - cx) / size, (yy - cy) / size
    lobes = (labels % 4 + 2).float().view(-1, 1, 1)
    radius = 1 + 0.35 * torch.cos(lobes * torch.atan2(dy, dx))
    dist = (dx ** 2 + dy ** 2).sqrt() / radius
    hollow = (labels >= 4).view(-1, 1, 1)
    mask = torch.where(hollow, (dist - 0.8).abs() < 0.2, dist < 1.0).float()
    colour = torch.rand(n, 3, 1, 1, generator=gen)
    images = mask.unsqueeze(1) * colour + 0.25 * torch.randn(n, 3, 32, 32, generator=gen)
    return images.contiguous(memory_format=torch.channels_last), labels


class Block(nn.Module):
    def __init__(self, cin, cout, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(cin, cout, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(cout)
        self.conv2 = nn.Conv2d(cout, cout, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(cout)
        self.skip = nn.Identity() if stride == 1 and cin == cout else nn.Conv2d(cin, cout, 1, stride, bias=False)

    def forward(self, x):
        h = F.relu(self.bn1(self.conv1(x)), inplace=True)
        h = self.bn2(self.conv2(h))
        return F.relu(h + self.skip(x), inplace=True)


class ResNet(nn.Module):
    def __init__(self, width, classes=8):
        super().__init__()
        self.stem = nn.Conv2d(3, width, 3, 2, 1, bias=False)
        self.bn = nn.BatchNorm2d(width)
        self.blocks = nn.Sequential(
            Block(width, width, 1), Block(width, width, 1),
            Block(width, 2 * width, 2), Block(2 * width, 2 * width, 1),
            Block(2 * width, 4 * width, 2), Block(4 * width, 4 * width, 1))
        self.head = nn.Linear(4 * width, classes)

    def forward(self, x):
        h = self.blocks(F.relu(self.bn(self.stem(x)), inplace=True))
        return self.head(h.mean(dim=(2, 3)))


def augment(x):
    """Mirror the batch half of the time and shift it by up to three pixels."""
    if torch.rand(()) < 0.5:
        x = x.flip(3)
    dy, dx = torch.randint(-3, 4, (2,)).tolist()
    return torch.roll(x, (dy, dx), dims=(2, 3))


@torch.inference_mode()
def evaluate(model, images, labels, batch_size=256):
    model.eval()
    hits = 0
    for start in range(0, len(images), batch_size):
        logits = model(images[start:start + batch_size])
        hits += (logits.argmax(1) == labels[start:start + batch_size]).sum().item()
    model.train()
    return hits / len(images)


def main():
    args = get_args()
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed)
    images, labels = draw_shapes(args.train_size, gen)
    val_images, val_labels = draw_shapes(args.val_size, gen)

    model = ResNet(args.width).to(memory_format=torch.channels_last)
    steps_per_epoch = args.train_size // args.batch_size
    total = args.epochs * steps_per_epoch
    opt = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9, weight_decay=5e-4,
                          nesterov=True, fused=True)
    sched = torch.optim.lr_scheduler.LambdaLR(
        opt, lambda s: min(1.0, (s + 1) / 50) * 0.5 * (1 + math.cos(math.pi * s / total)))

    step = 0
    for epoch in range(args.epochs):
        began = time.time()
        order = torch.randperm(len(images))
        for i in range(steps_per_epoch):
            pick = order[i * args.batch_size:(i + 1) * args.batch_size]
            x, y = augment(images[pick]), labels[pick]
            loss = F.cross_entropy(model(x), y, label_smoothing=0.05)
            opt.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            opt.step()
            sched.step()
            step += 1
            if step % args.log_every == 0:
                print(f"step {step}/{total}  loss {loss.item():.4f}  lr {sched.get_last_lr()[0]:.4f}")
        acc = evaluate(model, val_images, val_labels)
        print(f"epoch {epoch}: accuracy {acc:.3f}  ({time.time() - began:.1f}s)")


if __name__ == "__main__":
    main()
