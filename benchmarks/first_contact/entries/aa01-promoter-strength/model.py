from torch import nn


class Stage(nn.Sequential):
    def __init__(self, cin, cout, width):
        super().__init__(
            nn.Conv1d(cin, cout, width, padding=width // 2, bias=False),
            nn.BatchNorm1d(cout),
            nn.ReLU(inplace=True),
            nn.MaxPool1d(2),
        )


class ActivityNet(nn.Module):
    def __init__(self, channels=(96, 96, 128, 128), widths=(11, 5, 5, 3), length=256, dropout=0.2):
        super().__init__()
        stages, cin = [], 4
        for cout, width in zip(channels, widths):
            stages.append(Stage(cin, cout, width))
            cin = cout
        self.stages = nn.Sequential(*stages)
        flat = cin * (length >> len(channels))
        self.head = nn.Sequential(nn.Flatten(), nn.Linear(flat, 128), nn.ReLU(inplace=True),
                                  nn.Dropout(dropout), nn.Linear(128, 1))

    def forward(self, x):
        return self.head(self.stages(x)).squeeze(1)
