from torch import nn


def separable(c_in, c_out, stride=1):
    return nn.Sequential(
        nn.Conv2d(c_in, c_in, 3, stride, 1, groups=c_in, bias=False),
        nn.BatchNorm2d(c_in), nn.ReLU(inplace=True),
        nn.Conv2d(c_in, c_out, 1, bias=False),
        nn.BatchNorm2d(c_out), nn.ReLU(inplace=True),
    )


class DSCNN(nn.Module):
    def __init__(self, classes, width=64):
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(1, width, (8, 5), stride=(2, 2), padding=(3, 2), bias=False),
            nn.BatchNorm2d(width), nn.ReLU(inplace=True))
        self.blocks = nn.Sequential(separable(width, width), separable(width, width, 2),
                                    separable(width, 2 * width), separable(2 * width, 2 * width))
        self.head = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(0.2),
                                  nn.Linear(2 * width, classes))

    def forward(self, x):
        return self.head(self.blocks(self.stem(x)))
