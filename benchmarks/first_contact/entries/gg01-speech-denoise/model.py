import torch
from torch import nn


class MaskGRU(nn.Module):
    def __init__(self, n_fft=512, hop=256, hidden=192, layers=2):
        super().__init__()
        self.n_fft, self.hop = n_fft, hop
        bins = n_fft // 2 + 1
        self.register_buffer("window", torch.hann_window(n_fft), persistent=False)
        self.norm = nn.LayerNorm(bins)
        self.rnn = nn.GRU(bins, hidden, layers, batch_first=True)
        self.mask = nn.Sequential(nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, bins), nn.Sigmoid())

    def forward(self, noisy):
        spec = torch.stft(noisy, self.n_fft, self.hop, window=self.window, return_complex=True)
        logmag = torch.log1p(spec.abs()).transpose(1, 2)
        hidden, _ = self.rnn(self.norm(logmag))
        mask = self.mask(hidden).transpose(1, 2)
        return torch.istft(spec * mask, self.n_fft, self.hop, window=self.window, length=noisy.shape[-1])
