import torch.nn as nn

from .features import LogMel


class KeywordNet(nn.Module):
    def __init__(self, n_classes, channels=32, n_mels=64):
        super().__init__()
        self.frontend = LogMel(n_mels=n_mels)
        self.norm = nn.BatchNorm1d(n_mels)
        self.body = nn.Sequential(
            nn.Conv1d(n_mels, channels * 2, 5, padding=2), nn.ReLU(), nn.MaxPool1d(2),
            nn.Conv1d(channels * 2, channels * 2, 3, padding=1), nn.ReLU(), nn.MaxPool1d(2),
            nn.Conv1d(channels * 2, channels * 2, 3, padding=1), nn.ReLU(),
        )
        self.head = nn.Linear(channels * 2, n_classes)

    def forward(self, wave):
        x = self.norm(self.frontend(wave))
        return self.head(self.body(x).mean(dim=2))
