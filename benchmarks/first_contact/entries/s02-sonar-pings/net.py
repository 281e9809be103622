import torch
from torch import nn


class Residual(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.first = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm1 = nn.BatchNorm2d(channels)
        self.act1 = nn.ReLU(inplace=True)
        self.second = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm2 = nn.BatchNorm2d(channels)
        self.act2 = nn.ReLU()

    def forward(self, x):
        y = self.act1(self.norm1(self.first(x)))
        return self.act2(self.norm2(self.second(y)) + x)


class PingNet(nn.Module):
    def __init__(self, outputs=3, width=24):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(1, width, 3, stride=2, padding=1, bias=False), nn.BatchNorm2d(width), nn.ReLU(inplace=True))
        self.body = nn.Sequential(
            Residual(width),
            nn.Conv2d(width, 2 * width, 2, stride=2),
            Residual(2 * width),
            Residual(2 * width),
        )
        self.head = nn.Linear(2 * width * 4, outputs)

    def forward(self, x):
        x = self.body(self.stem(x))
        # keep the range axis coarse but present: depth is where the echo is
        x = torch.nn.functional.adaptive_avg_pool2d(x, (1, 4))
        return self.head(x.flatten(1))


class ActivationProbe:
    """Collects, per ReLU, the mean output and the share of silent channels."""

    def __init__(self, model):
        self.sums, self.silent, self.calls = {}, {}, {}
        self.handles = []
        for name, module in model.named_modules():
            if isinstance(module, nn.ReLU):
                self.handles.append(module.register_forward_hook(self.recorder(name)))

    def remove(self):
        for handle in self.handles:
            handle.remove()

    def recorder(self, name):
        def hook(module, inputs, output):
            value = output.detach()
            peak = value.amax(dim=(0, 2, 3))
            self.sums[name] = self.sums.get(name, 0.0) + value.mean()
            self.silent[name] = self.silent.get(name, 0.0) + (peak <= 1e-6).float().mean()
            self.calls[name] = self.calls.get(name, 0) + 1

        return hook

    def summary(self):
        return {n: (float(self.sums[n]) / c, float(self.silent[n]) / c) for n, c in self.calls.items()}
