import argparse
import os
import sys

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class BasicBlock(nn.Module):
    def __init__(self, cin, cout, stride=1):
        super().__init__()
        self.conv1 = nn.Conv2d(cin, cout, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(cout)
        self.conv2 = nn.Conv2d(cout, cout, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(cout)
        self.short = nn.Sequential()
        if stride != 1 or cin != cout:
            self.short = nn.Sequential(nn.Conv2d(cin, cout, 1, stride, bias=False), nn.BatchNorm2d(cout))

    def forward(self, x):
        h = F.relu(self.bn1(self.conv1(x)))
        return F.relu(self.bn2(self.conv2(h)) + self.short(x))


class ResNet(nn.Module):
    def __init__(self, blocks=(2, 2, 2), widths=(32, 64, 128), classes=10):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 32, 3, 1, 1, bias=False), nn.BatchNorm2d(32), nn.ReLU())
        layers, c = [], 32
        for i, (n, w) in enumerate(zip(blocks, widths)):
            for j in range(n):
                layers.append(BasicBlock(c, w, 2 if i and j == 0 else 1))
                c = w
        self.layers = nn.Sequential(*layers)
        self.fc = nn.Linear(c, classes)

    def forward(self, x):
        return self.fc(self.layers(self.stem(x)).mean(dim=(2, 3)))


def progress(i, n, loss, acc):
    bar = "=" * int(30 * i / n)
    sys.stdout.write(f"\r[{bar:<30}] {i}/{n} loss {loss:.3f} acc {acc:.3f}")
    sys.stdout.flush()
    if i == n:
        sys.stdout.write("\n")


def accuracy(out, y, topk=(1, 5)):
    with torch.no_grad():
        _, pred = out.topk(max(topk), 1, True, True)
        correct = pred.t().eq(y.view(1, -1).expand_as(pred.t()))
        return [correct[:k].reshape(-1).float().sum().item() / len(y) for k in topk]


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=1)
    ap.add_argument("--batch-size", type=int, default=32)
    ap.add_argument("--lr", type=float, default=0.05)
    ap.add_argument("--save-dir", default="/tmp/p18_resnet")
    args = ap.parse_args()
    os.makedirs(args.save_dir, exist_ok=True)
    torch.manual_seed(0)
    x, y = torch.randn(32 * 34, 3, 32, 32), torch.randint(0, 10, (32 * 34,))
    train = DataLoader(TensorDataset(x[:32 * 30], y[:32 * 30]), args.batch_size, shuffle=True)
    test = DataLoader(TensorDataset(x[32 * 30:], y[32 * 30:]), args.batch_size)
    net = ResNet()
    opt = torch.optim.SGD(net.parameters(), lr=args.lr, momentum=0.9, weight_decay=5e-4)
    sched = torch.optim.lr_scheduler.OneCycleLR(opt, args.lr, total_steps=args.epochs * len(train))
    for epoch in range(args.epochs):
        net.train()
        tot = top1 = top5 = 0.0
        for i, (xb, yb) in enumerate(train, 1):
            opt.zero_grad(set_to_none=False)
            out = net(xb)
            loss = F.cross_entropy(out, yb)
            loss.backward()
            nn.utils.clip_grad_norm_(net.parameters(), 5.0)
            opt.step()
            sched.step()
            tot += loss.item()
            a1, a5 = accuracy(out, yb)
            top1, top5 = top1 + a1, top5 + a5
            progress(i, len(train), tot / i, top1 / i)
        net.eval()
        with torch.no_grad():
            acc = sum((net(xb).argmax(1) == yb).sum().item() for xb, yb in test) / len(test.dataset)
        torch.save(net.state_dict(), os.path.join(args.save_dir, "last.pt"))
        print(f"epoch {epoch} test acc {acc:.3f} top5 {top5 / len(train):.3f}")


if __name__ == "__main__":
    main()
