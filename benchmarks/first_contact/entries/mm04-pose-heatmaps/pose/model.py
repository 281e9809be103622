import torch.nn as nn
import torch.nn.functional as F


class Bottleneck(nn.Module):
    def __init__(self, cin, planes, stride=1):
        super().__init__()
        cout = planes * 2
        self.conv1 = nn.Conv2d(cin, planes, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(planes)
        self.conv2 = nn.Conv2d(planes, planes, 3, stride, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(planes)
        self.conv3 = nn.Conv2d(planes, cout, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(cout)
        self.down = None
        if stride != 1 or cin != cout:
            self.down = nn.Sequential(nn.Conv2d(cin, cout, 1, stride, bias=False), nn.BatchNorm2d(cout))

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)), inplace=True)
        y = F.relu(self.bn2(self.conv2(y)), inplace=True)
        y = self.bn3(self.conv3(y))
        return F.relu(y + (x if self.down is None else self.down(x)), inplace=True)


class PoseNet(nn.Module):
    """Residual encoder with deconvolutions on top and one heatmap per joint."""

    def __init__(self, joints=16, width=16):
        super().__init__()
        w = width
        self.stem = nn.Sequential(nn.Conv2d(3, w, 7, 2, 3, bias=False), nn.BatchNorm2d(w), nn.ReLU(True), nn.MaxPool2d(3, 2, 1))
        self.encoder = nn.Sequential(
            Bottleneck(w, w),
            Bottleneck(2 * w, 2 * w, 2),
            Bottleneck(4 * w, 4 * w, 2),
        )
        up, cin = [], 8 * w
        for cout in (2 * w, 2 * w, 2 * w):
            up += [nn.ConvTranspose2d(cin, cout, 4, 2, 1, bias=False), nn.BatchNorm2d(cout), nn.ReLU(True)]
            cin = cout
        self.decoder = nn.Sequential(*up)
        self.head = nn.Conv2d(cin, joints, 1)
        for m in self.modules():
            if isinstance(m, nn.ConvTranspose2d):
                nn.init.normal_(m.weight, std=0.02)

    def forward(self, x):
        return self.head(self.decoder(self.encoder(self.stem(x))))
