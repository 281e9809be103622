"""How does the accuracy of a frozen classifier fall under corruptions of growing severity?"""
import argparse
import time

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils.fusion import fuse_conv_bn_eval

CLASSES, SIDE = 8, 32


def textures(n, generator):
    """Oriented coloured gratings: the class is the orientation."""
    label = torch.randint(CLASSES, (n,), generator=generator)
    angle = label * torch.pi / CLASSES + torch.randn(n, generator=generator) * 0.08
    frequency = torch.rand(n, generator=generator) * 0.5 + 0.6
    phase = torch.rand(n, generator=generator) * 2 * torch.pi
    y, x = torch.meshgrid(torch.arange(SIDE), torch.arange(SIDE), indexing="ij")
    wave = torch.sin((x * angle.cos()[:, None, None] + y * angle.sin()[:, None, None]) * frequency[:, None, None] + phase[:, None, None])
    colour = torch.rand(n, 3, 1, 1, generator=generator)
    image = 0.5 + 0.4 * wave[:, None] * colour + 0.05 * torch.randn(n, 3, SIDE, SIDE, generator=generator)
    return image.clamp(0, 1).contiguous(memory_format=torch.channels_last), label


class ConvBN(nn.Module):
    def __init__(self, cin, cout, stride):
        super().__init__()
        self.conv = nn.Conv2d(cin, cout, 3, stride, 1, bias=False)
        self.bn = nn.BatchNorm2d(cout)

    def forward(self, x):
        return F.relu(self.bn(self.conv(x)))

    def fused(self):
        return nn.Sequential(fuse_conv_bn_eval(self.conv, self.bn), nn.ReLU(inplace=True))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        plan = [(3, 32, 1), (32, 48, 2), (48, 48, 1), (48, 96, 2), (96, 96, 1)]
        self.features = nn.Sequential(*(ConvBN(*p) for p in plan))
        self.head = nn.Linear(2 * 96, CLASSES)

    def embed(self, x):
        x = self.features(x).flatten(2)
        return torch.cat([x.mean(2), x.amax(2)], 1)

    def forward(self, x):
        return self.head(self.embed(x))


@torch.no_grad()
def prepare(net, images, labels):
    """Batch statistics and a ridge-regression head stand in for a downloaded checkpoint."""
    net.train()
    for x in images.split(256):
        net.features(x)
    net.eval()
    f = torch.cat([net.embed(x) for x in images.split(256)])
    mean, std = f.mean(0), f.std(0) + 1e-3
    g = (f - mean) / std
    w = torch.linalg.solve(g.T @ g + 5.0 * torch.eye(g.shape[1]), g.T @ (F.one_hot(labels, CLASSES).float() - 1 / CLASSES))
    net.head.weight.copy_(8 * (w / std[:, None]).T)
    net.head.bias.copy_(-8 * (mean / std) @ w)
    net.features = nn.Sequential(*(block.fused() for block in net.features))
    return net.to(memory_format=torch.channels_last).requires_grad_(False)


# one random field for all images and severities: differences are then due to severity alone
GRAIN = torch.randn(1, 3, SIDE, SIDE, generator=torch.Generator().manual_seed(1)).contiguous(memory_format=torch.channels_last)
HOLES = torch.rand(1, 1, SIDE, SIDE, generator=torch.Generator().manual_seed(2))

CORRUPTIONS = {
    "noise": lambda x, s: x + 0.06 * s * GRAIN,
    "contrast": lambda x, s: 0.5 + (x - 0.5) * (1 - 0.17 * s),
    "brightness": lambda x, s: x + 0.08 * s,
    "dropout": lambda x, s: x * (HOLES > 0.09 * s),
    "blur": lambda x, s: x.lerp(F.avg_pool2d(x, 3, 1, 1), 0.2 * s),
}


def score(net, images, labels, corrupt, severity, batch, bins=10):
    confusion = torch.zeros(CLASSES * CLASSES)
    sums = torch.zeros(3, bins)
    for x, y in zip(images.split(batch), labels.split(batch)):
        confidence, guess = net(corrupt(x, severity).clamp_(0, 1)).softmax(1).max(1)
        confusion += torch.bincount(y * CLASSES + guess, minlength=CLASSES * CLASSES)
        bucket = (confidence * bins).long().clamp_(max=bins - 1)
        sums.index_add_(1, bucket, torch.stack([torch.ones(len(y)), confidence, (guess == y).float()]))
    confusion = confusion.view(CLASSES, CLASSES)
    accuracy = confusion.diagonal().sum() / len(labels)
    ece = (sums[1] - sums[2]).abs().sum() / len(labels)
    worst = (confusion.diagonal() / confusion.sum(1)).min()
    return accuracy.item(), worst.item(), ece.item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--images", type=int, default=12288)
    parser.add_argument("--batch", type=int, default=128)
    args = parser.parse_args()
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(21)
    net = prepare(Net(), *textures(1024, generator))
    images, labels = textures(args.images, generator)
    with torch.inference_mode():
        for name, corrupt in CORRUPTIONS.items():
            for severity in range(1, 6):
                start = time.perf_counter()
                accuracy, worst, ece = score(net, images, labels, corrupt, severity, args.batch)
                print(f"{name:10s} severity {severity}: accuracy {accuracy:.3f}  worst class {worst:.3f}  ECE {ece:.3f}  {time.perf_counter() - start:.1f}s")


if __name__ == "__main__":
    main()
