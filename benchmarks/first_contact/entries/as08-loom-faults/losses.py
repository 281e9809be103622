"""Structural similarity as a loss."""
import torch
import torch.nn as nn
import torch.nn.functional as F


def gaussian_window(size, sigma):
    x = torch.arange(size) - (size - 1) / 2
    g = torch.exp(-x ** 2 / (2 * sigma ** 2))
    g = g / g.sum()
    return torch.outer(g, g)


class SSIMLoss(nn.Module):
    def __init__(self, channels=3, size=11, sigma=1.5, c1=0.01 ** 2, c2=0.03 ** 2):
        super().__init__()
        self.channels, self.pad = channels, size // 2
        self.c1, self.c2 = c1, c2
        self.register_buffer("window", gaussian_window(size, sigma).expand(channels, 1, size, size).contiguous())

    def blur(self, x):
        return F.conv2d(x, self.window, padding=self.pad, groups=self.channels)

    def forward(self, x, y):
        mx, my = self.blur(x), self.blur(y)
        vx = self.blur(x * x) - mx ** 2
        vy = self.blur(y * y) - my ** 2
        vxy = self.blur(x * y) - mx * my
        ssim = ((2 * mx * my + self.c1) * (2 * vxy + self.c2)) / ((mx ** 2 + my ** 2 + self.c1) * (vx + vy + self.c2))
        return 1 - ssim.mean()
