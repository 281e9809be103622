import torch
import torch.nn as nn


class ConvLSTMRegressor(nn.Module):
    def __init__(self, features, channels=64, hidden=128, layers=2, dropout=0.2):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv1d(features, channels, 5, padding=2),
            nn.BatchNorm1d(channels),
            nn.ReLU(),
            nn.Conv1d(channels, channels, 5, padding=2),
            nn.BatchNorm1d(channels),
            nn.ReLU(),
        )
        self.lstm = nn.LSTM(channels, hidden, layers, batch_first=True, dropout=dropout)
        self.dropout = nn.Dropout(dropout)
        self.head = nn.Sequential(nn.Linear(hidden, 64), nn.ReLU(), nn.Dropout(dropout), nn.Linear(64, 2))

    def forward(self, x):
        x = self.conv(x.transpose(1, 2)).transpose(1, 2)
        x, _ = self.lstm(x)
        mean, log_var = self.head(self.dropout(x[:, -1])).unbind(-1)
        return mean, log_var
