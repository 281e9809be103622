import torch.nn as nn
import torch.nn.functional as F


class Residual(nn.Module):
    def __init__(self, cin, cout, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(cin, cout, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(cout)
        self.conv2 = nn.Conv2d(cout, cout, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(cout)
        self.short = None
        if stride != 1 or cin != cout:
            self.short = nn.Sequential(nn.Conv2d(cin, cout, 1, stride, bias=False), nn.BatchNorm2d(cout))

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)), inplace=True)
        y = self.bn2(self.conv2(y))
        return F.relu(y + (x if self.short is None else self.short(x)), inplace=True)


class StrongBaseline(nn.Module):
    """Residual backbone, last stride 1, BN neck between the metric and the identity loss."""

    def __init__(self, identities, width=20, dim=160):
        super().__init__()
        w = width
        self.stem = nn.Sequential(nn.Conv2d(3, w, 5, 2, 2, bias=False), nn.BatchNorm2d(w), nn.ReLU(True), nn.MaxPool2d(2))
        self.layers = nn.Sequential(
            Residual(w, w, 1), Residual(w, 2 * w, 2), Residual(2 * w, 4 * w, 2), Residual(4 * w, dim, 1)
        )
        self.neck = nn.BatchNorm1d(dim)
        self.neck.bias.requires_grad_(False)
        self.classifier = nn.Linear(dim, identities, bias=False)
        nn.init.normal_(self.classifier.weight, std=0.001)

    def forward(self, x):
        f = self.layers(self.stem(x)).mean((2, 3))
        g = self.neck(f)
        if not self.training:
            return g
        return self.classifier(g), f
