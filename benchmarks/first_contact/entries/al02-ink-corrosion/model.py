"""Reverse attention over the bands of a folio: a coarse map of the harm first, then its edges."""
import torch
from torch import nn
import torch.nn.functional as F


class ConvNorm(nn.Sequential):
    def __init__(self, in_ch, out_ch, kernel=3, stride=1):
        super().__init__(
            nn.Conv2d(in_ch, out_ch, kernel, stride, kernel // 2, bias=False),
            nn.BatchNorm2d(out_ch),
            nn.ReLU(inplace=True),
        )


class Residual(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.a = ConvNorm(channels, channels)
        self.b = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(channels)

    def forward(self, x):
        return F.relu(x + self.norm(self.b(self.a(x))))


class BandMixer(nn.Module):
    """Squeeze and excitation: which bands' features matter depends on ink and paper."""

    def __init__(self, channels, squeeze=8):
        super().__init__()
        self.down = nn.Linear(channels, squeeze)
        self.up = nn.Linear(squeeze, channels)

    def forward(self, x):
        gate = torch.sigmoid(self.up(F.relu(self.down(x.mean((2, 3))))))
        return x * gate[:, :, None, None]


class ReverseAttention(nn.Module):
    """Looks at what the coarser map left out."""

    def __init__(self, in_ch, channels):
        super().__init__()
        self.reduce = ConvNorm(in_ch, channels, 1)
        self.refine = ConvNorm(channels, channels)

    def forward(self, features, coarse):
        coarse = F.interpolate(coarse, size=features.shape[-2:], mode="bilinear", align_corners=False)
        left_out = 1 - torch.sigmoid(coarse)
        return self.refine(self.reduce(features) * left_out)


class Head(nn.Module):
    def __init__(self, channels, size):
        super().__init__()
        self.size = size
        self.drop = nn.Dropout2d(0.1)
        self.classify = nn.Conv2d(channels, 1, 1)

    def forward(self, x):
        x = F.interpolate(self.drop(x), size=self.size, mode="bilinear", align_corners=False)
        return self.classify(x)


class HarmNet(nn.Module):
    def __init__(self, bands=5, width=16, decoder=24, size=(64, 64)):
        super().__init__()
        w = width
        self.stem = nn.Sequential(ConvNorm(bands, w, 5, 2), BandMixer(w), Residual(w))
        self.stage2 = nn.Sequential(ConvNorm(w, 2 * w, 3, 2), Residual(2 * w))
        self.stage3 = nn.Sequential(ConvNorm(2 * w, 3 * w, 3, 2), Residual(3 * w), Residual(3 * w))
        self.context = ConvNorm(3 * w, decoder)
        self.edge2 = ReverseAttention(2 * w, decoder)
        self.edge1 = ReverseAttention(w, decoder)
        self.head3 = Head(decoder, size)
        self.head2 = Head(decoder, size)
        self.head1 = Head(decoder, size)

    def forward(self, x):
        f1 = self.stem(x)
        f2 = self.stage2(f1)
        f3 = self.stage3(f2)
        map3 = self.head3(self.context(f3))
        map2 = self.head2(self.edge2(f2, map3)) + map3
        map1 = self.head1(self.edge1(f1, map2)) + map2
        return map1, map2, map3
