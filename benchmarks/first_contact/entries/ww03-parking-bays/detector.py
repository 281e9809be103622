import torch
from torch import nn

# width and height of the anchors, relative to the picture
ANCHORS = ((0.08, 0.14), (0.09, 0.18), (0.16, 0.10))


def conv(inputs, outputs, stride=1, kernel=3):
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, bias=False),
        nn.BatchNorm2d(outputs),
        nn.LeakyReLU(0.1, inplace=True),
    )


class Residual(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layers = nn.Sequential(conv(width, width // 2, kernel=1), conv(width // 2, width))

    def forward(self, x):
        return x + self.layers(x)


class BayDetector(nn.Module):
    """One-scale grid detector with a stride of 8; output (N, A, S, S, 5 + kinds)."""

    def __init__(self, kinds=2, width=24):
        super().__init__()
        self.kinds = kinds
        self.backbone = nn.Sequential(
            conv(3, width, 2),
            Residual(width),
            conv(width, width * 2, 2),
            Residual(width * 2),
            Residual(width * 2),
            conv(width * 2, width * 4, 2),
            Residual(width * 4),
            Residual(width * 4),
        )
        self.head = nn.Sequential(
            conv(width * 4, width * 4),
            nn.Conv2d(width * 4, len(ANCHORS) * (5 + kinds), 1),
        )
        self.register_buffer("anchors", torch.tensor(ANCHORS))
        with torch.no_grad():
            self.head[1].bias.view(len(ANCHORS), -1)[:, 4] = -4.0

    def forward(self, pictures):
        out = self.head(self.backbone(pictures))
        n, _, rows, columns = out.shape
        return out.view(n, len(ANCHORS), 5 + self.kinds, rows, columns).permute(0, 1, 3, 4, 2).contiguous()

    def decode(self, out):
        """Boxes (N, M, 4) as corners, confidences (N, M) and kinds (N, M)."""
        n, _, rows, columns, _ = out.shape
        y, x = torch.meshgrid(torch.arange(rows), torch.arange(columns), indexing="ij")
        cx = (out[..., 0].sigmoid() + x) / columns
        cy = (out[..., 1].sigmoid() + y) / rows
        size = out[..., 2:4].clamp(max=4).exp() * self.anchors[:, None, None]
        centre = torch.stack([cx, cy], -1)
        boxes = torch.cat([centre - size / 2, centre + size / 2], -1).view(n, -1, 4)
        chance, kind = out[..., 5:].softmax(-1).max(-1)
        return boxes, (out[..., 4].sigmoid() * chance).view(n, -1), kind.view(n, -1)
