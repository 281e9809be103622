import torch
import torch.nn as nn
import torch.nn.functional as F


def conv2d(cin, cout, stride=1, dilation=1):
    return nn.Sequential(
        nn.Conv2d(cin, cout, 3, stride, dilation, dilation, bias=False),
        nn.BatchNorm2d(cout),
        nn.ReLU(inplace=True),
    )


def conv3d(cin, cout, stride=1):
    return nn.Sequential(
        nn.Conv3d(cin, cout, 3, stride, 1, bias=False),
        nn.BatchNorm3d(cout),
        nn.ReLU(inplace=True),
    )


class Residual(nn.Module):
    def __init__(self, channels, dilation=1):
        super().__init__()
        self.first = conv2d(channels, channels, dilation=dilation)
        self.second = nn.Sequential(
            nn.Conv2d(channels, channels, 3, 1, dilation, dilation, bias=False),
            nn.BatchNorm2d(channels),
        )

    def forward(self, x):
        return F.relu(x + self.second(self.first(x)))


class FeatureNet(nn.Module):
    def __init__(self, width=24, out=12):
        super().__init__()
        self.body = nn.Sequential(
            conv2d(3, 16, stride=2),
            conv2d(16, width, stride=2),
            Residual(width),
            Residual(width, dilation=2),
            nn.Conv2d(width, out, 1),
        )

    def forward(self, x):
        return self.body(x)


class StereoNet(nn.Module):
    """Siamese features, concatenation cost volume at a quarter of the size, 3D aggregation, soft argmin."""

    def __init__(self, max_disp=48, features=12, width=12):
        super().__init__()
        self.max_disp = max_disp
        self.features = FeatureNet(out=features)
        self.head = nn.Sequential(conv3d(2 * features, width), conv3d(width, width))
        self.refine = nn.Sequential(conv3d(width, width), nn.Conv3d(width, width, 3, 1, 1, bias=False), nn.BatchNorm3d(width))
        self.score = nn.Conv3d(width, 1, 3, 1, 1)
        self.register_buffer("candidates", torch.arange(max_disp, dtype=torch.float32).view(1, -1, 1, 1))

    def cost_volume(self, left, right):
        b, c, h, w = left.shape
        levels = self.max_disp // 4
        volume = left.new_zeros(b, 2 * c, levels, h, w)
        for d in range(levels):
            if d == 0:
                volume[:, :c, d] = left
                volume[:, c:, d] = right
            else:
                volume[:, :c, d, :, d:] = left[..., d:]
                volume[:, c:, d, :, d:] = right[..., :-d]
        return volume

    def forward(self, left, right):
        volume = self.cost_volume(self.features(left), self.features(right))
        x = self.head(volume)
        x = F.relu(x + self.refine(x))
        cost = self.score(x)
        cost = F.interpolate(cost, size=(self.max_disp, *left.shape[-2:]), mode="trilinear", align_corners=False)
        weights = F.softmax(cost.squeeze(1), dim=1)
        return (weights * self.candidates).sum(dim=1)
