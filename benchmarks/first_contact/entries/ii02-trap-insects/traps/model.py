import torch
from torch import nn


def block(c_in, c_out, stride=1):
    return nn.Sequential(
        nn.Conv2d(c_in, c_out, 3, stride, 1, bias=False),
        nn.BatchNorm2d(c_out),
        nn.ReLU(inplace=True),
    )


class TrapNet(nn.Module):
    """Single-shot detector with heads at strides 8 and 16."""

    def __init__(self, n_species, n_anchors=3, width=16):
        super().__init__()
        self.n_out = n_species + 1
        self.stem = nn.Sequential(block(3, width, 2), block(width, width))
        self.stage4 = nn.Sequential(block(width, 2 * width, 2), block(2 * width, 2 * width))
        self.stage8 = nn.Sequential(block(2 * width, 4 * width, 2), block(4 * width, 4 * width), block(4 * width, 4 * width))
        self.stage16 = nn.Sequential(block(4 * width, 6 * width, 2), block(6 * width, 6 * width), block(6 * width, 6 * width))
        self.lateral = nn.Conv2d(6 * width, 4 * width, 1)
        self.heads = nn.ModuleList()
        for c in (4 * width, 6 * width):
            head = nn.Conv2d(c, n_anchors * (self.n_out + 4), 3, padding=1)
            nn.init.normal_(head.weight, std=0.01)
            nn.init.zeros_(head.bias)
            self.heads.append(head)

    def forward(self, x):
        c8 = self.stage8(self.stage4(self.stem(x)))
        c16 = self.stage16(c8)
        p8 = c8 + nn.functional.interpolate(self.lateral(c16), scale_factor=2, mode="nearest")
        out = []
        for head, f in zip(self.heads, (p8, c16)):
            out.append(head(f).permute(0, 2, 3, 1).reshape(len(x), -1, self.n_out + 4))
        out = torch.cat(out, 1)
        return out[..., : self.n_out], out[..., self.n_out :]
