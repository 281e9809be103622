import torch
from torch import nn


def stem(inside, outside):
    return nn.Sequential(
        nn.Conv2d(inside, outside, 5, stride=2, padding=2, bias=False),
        nn.BatchNorm2d(outside),
        nn.ReLU(inplace=True),
    )


def block(inside, outside):
    return nn.Sequential(
        nn.Conv2d(inside, outside, 3, padding=1, bias=False),
        nn.BatchNorm2d(outside),
        nn.ReLU(inplace=True),
        nn.MaxPool2d(2),
    )


class CorkNet(nn.Module):
    def __init__(self, grades=5, width=12, side=64, hidden=384, dropout=0.3):
        super().__init__()
        self.features = nn.Sequential(
            stem(3, width),
            block(width, 2 * width),
            block(2 * width, 4 * width),
        )
        flat = 4 * width * (side // 8) ** 2
        self.head = nn.Sequential(
            nn.Flatten(),
            nn.Linear(flat, hidden),
            nn.ReLU(inplace=True),
            nn.Dropout(dropout),
            nn.Linear(hidden, grades),
        )

    def forward(self, x):
        return self.head(self.features(x))


def count_parameters(model):
    return sum(p.numel() for p in model.parameters() if p.requires_grad)


if __name__ == "__main__":
    net = CorkNet()
    print(net(torch.zeros(2, 3, 64, 64)).shape, count_parameters(net))
