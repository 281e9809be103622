import torch
import torch.nn as nn

CHANNELS, LENGTH, CLASSES = 6, 96, 5


def sensor_windows(n, seed):
    """Accelerometer-like windows of five activities."""
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(0, CLASSES, (n,), generator=g)
    t = torch.linspace(0, 1, LENGTH)
    freq = torch.tensor([2.0, 3.0, 5.0, 8.0, 2.5])[y].view(-1, 1, 1) * (0.85 + 0.3 * torch.rand(n, 1, 1, generator=g))
    amp = torch.tensor([0.4, 1.0, 0.8, 0.5, 1.2])[y].view(-1, 1, 1) * (0.5 + torch.rand(n, CHANNELS, 1, generator=g))
    x = amp * torch.sin(6.283 * (freq * t + torch.rand(n, CHANNELS, 1, generator=g)))
    return x + 0.7 * torch.randn(n, CHANNELS, LENGTH, generator=g), y


class ConvNet(nn.Module):
    def __init__(self, widths, dropout=0.0):
        super().__init__()
        layers, cin = [], CHANNELS
        for i, w in enumerate(widths):
            layers += [nn.Conv1d(cin, w, 5, padding=2, stride=1 if i == 0 else 2), nn.BatchNorm1d(w), nn.ReLU()]
            cin = w
        self.body = nn.Sequential(*layers)
        self.drop = nn.Dropout(dropout)
        self.head = nn.Linear(cin, CLASSES)

    def forward(self, x):
        return self.head(self.drop(self.body(x).mean(-1)))


def teacher_net():
    return ConvNet((48, 72, 64), dropout=0.2)


def student_net():
    return ConvNet((24, 32, 40, 48))
