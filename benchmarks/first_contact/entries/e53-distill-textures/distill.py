import copy
import time

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils.fusion import fuse_conv_bn_eval


def textures(n, seed):
    """Gratings in ten directions with noise, 24x24, one channel."""
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(10, (n,), generator=g)
    angle = y * torch.pi / 10 + 0.08 * torch.randn(n, generator=g)
    freq = 4 + 3 * torch.rand(n, generator=g)
    axis = torch.linspace(-1, 1, 24)
    yy, xx = torch.meshgrid(axis, axis, indexing="ij")
    along = xx * angle.cos().view(-1, 1, 1) + yy * angle.sin().view(-1, 1, 1)
    phase = 6.28 * torch.rand(n, 1, 1, generator=g)
    x = torch.sin(freq.view(-1, 1, 1) * along + phase) + 1.2 * torch.randn(n, 24, 24, generator=g)
    return x.unsqueeze(1), y


def convnet(widths):
    layers, last = [], 1
    for i, w in enumerate(widths):
        layers += [nn.Conv2d(last, w, 3, stride=2 if i % 2 else 1, padding=1, bias=False), nn.BatchNorm2d(w), nn.ReLU(inplace=True)]
        last = w
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(last, 10)).to(memory_format=torch.channels_last)


def folded(net):
    """A frozen copy for inference with every batch norm folded into the convolution before it."""
    parts, out = list(copy.deepcopy(net).eval()), []
    for part in parts:
        if isinstance(part, nn.BatchNorm2d):
            out[-1] = fuse_conv_bn_eval(out[-1], part)
        else:
            out.append(part)
    return nn.Sequential(*out).requires_grad_(False).to(memory_format=torch.channels_last)


def jitter(x):
    """New noise, contrast and mirror image every time a batch is seen."""
    x = x * (0.8 + 0.4 * torch.rand(len(x), 1, 1, 1)) + 0.3 * torch.randn_like(x)
    return x if torch.rand(()) < 0.5 else x.flip(2, 3)


class Run:
    def __init__(self, net, lr, batch=64):
        self.net, self.batch = net, batch
        self.opt = torch.optim.SGD(net.parameters(), lr=lr, momentum=0.9, weight_decay=1e-4, fused=True)

    def fit(self, x, y, steps, criterion, name):
        began = time.time()
        for step in range(1, steps + 1):
            pick = torch.randint(len(x), (self.batch,))
            views = jitter(x[pick])
            loss = criterion(self.net(views), views, y[pick])
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
            if step % 50 == 0:
                print(f"{name} {step}/{steps} loss {loss.item():.3f} {time.time() - began:.0f}s")

    @torch.inference_mode()
    def accuracy(self, x, y):
        self.net.eval()
        hits = sum((self.net(a).argmax(1) == b).sum() for a, b in zip(x.split(250), y.split(250)))
        self.net.train()
        return hits.item() / len(x)


class DistillLoss:
    def __init__(self, teacher, temperature=3.0, share=0.7):
        self.teacher, self.temperature, self.share = teacher, temperature, share

    def __call__(self, logits, views, labels):
        with torch.no_grad():
            goal = F.softmax(self.teacher(views) / self.temperature, 1)
        soft = F.kl_div(F.log_softmax(logits / self.temperature, 1), goal, reduction="batchmean") * self.temperature ** 2
        return self.share * soft + (1 - self.share) * F.cross_entropy(logits, labels)


if __name__ == "__main__":
    torch.manual_seed(6)
    x, y = textures(4000, 1)
    test = textures(500, 2)

    teacher = Run(convnet([32, 64, 64, 128, 128]), lr=0.05)
    teacher.fit(x, y, 150, lambda logits, views, labels: F.cross_entropy(logits, labels), "teacher")
    print(f"teacher accuracy {teacher.accuracy(*test):.3f}")

    student = Run(convnet([24, 48, 48, 64]), lr=0.05)
    student.fit(x, y, 700, DistillLoss(folded(teacher.net)), "student")
    print(f"student accuracy {student.accuracy(*test):.3f}")
