import torch
import torch.nn as nn


def conv_unit(cin, cout, kernel, stride=1):
    return nn.Sequential(
        nn.Conv2d(cin, cout, (1, kernel), (1, stride), padding=(0, kernel // 2), bias=False),
        nn.BatchNorm2d(cout),
        nn.ReLU(inplace=True),
    )


class EpochEncoder(nn.Module):
    def __init__(self, channels, width, dropout):
        super().__init__()
        self.net = nn.Sequential(
            conv_unit(channels, width, 49, 6),
            nn.MaxPool2d((1, 8)),
            conv_unit(width, width, 7),
            conv_unit(width, width, 7),
            conv_unit(width, width, 7),
            nn.MaxPool2d((1, 4)),
            nn.Flatten(),
            nn.Dropout(dropout),
        )

    def forward(self, x):
        return self.net(x.unsqueeze(2).to(memory_format=torch.channels_last))


class SleepStager(nn.Module):
    """Convolutional encoder per 30 s epoch, bidirectional LSTM over the run of epochs."""

    def __init__(self, channels=2, width=96, hidden=96, stages=5, samples=3000, dropout=0.4):
        super().__init__()
        self.encoder = EpochEncoder(channels, width, dropout)
        with torch.no_grad():
            features = self.encoder.eval()(torch.zeros(1, channels, samples)).shape[1]
        self.encoder.train()
        self.rnn = nn.LSTM(features, hidden, batch_first=True, bidirectional=True)
        self.head = nn.Sequential(nn.Dropout(dropout), nn.Linear(2 * hidden, stages))

    def forward(self, x):
        b, t = x.shape[:2]
        z = self.encoder(x.flatten(0, 1)).view(b, t, -1)
        h, _ = self.rnn(z)
        return self.head(h)
