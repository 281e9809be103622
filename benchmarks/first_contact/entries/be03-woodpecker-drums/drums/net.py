import torch
from torch import nn
import torch.nn.functional as F


class LongConv(nn.Module):
    """Causal convolution with a damped-oscillation kernel as long as the sequence."""

    def __init__(self, channels, length, modes=8):
        super().__init__()
        self.length = length
        self.decay = nn.Parameter(torch.rand(channels, modes) * 4 - 6)
        self.pitch = nn.Parameter(torch.rand(channels, modes) * 0.5)
        self.height = nn.Parameter(torch.randn(channels, modes) / modes)
        self.skip = nn.Parameter(torch.ones(channels))
        self.register_buffer("time", torch.arange(length, dtype=torch.float32), persistent=False)

    def kernel(self):
        damp = torch.exp(-self.decay.exp()[..., None] * self.time)
        return (self.height[..., None] * damp * torch.cos(self.pitch[..., None] * self.time)).sum(1)

    def forward(self, x):
        n = self.length + x.shape[-1] - 1
        spectrum = torch.fft.rfft(self.kernel(), n=n) * torch.fft.rfft(x, n=n)
        y = torch.fft.irfft(spectrum, n=n)[..., :x.shape[-1]]
        return y + self.skip[:, None] * x


class Layer(nn.Module):
    def __init__(self, channels, length):
        super().__init__()
        self.norm = nn.GroupNorm(1, channels)
        self.long = LongConv(channels, length)
        self.gate = nn.Conv1d(channels, 2 * channels, 1)

    def forward(self, x):
        y = F.gelu(self.long(self.norm(x)))
        return x + F.glu(self.gate(y), dim=1)


class DrumNet(nn.Module):
    def __init__(self, kinds, length, channels=32, layers=2):
        super().__init__()
        self.stem = nn.Conv1d(1, channels, 9, padding=4)
        self.layers = nn.ModuleList(Layer(channels, length) for _ in range(layers))
        self.head = nn.Sequential(nn.LayerNorm(2 * channels), nn.Linear(2 * channels, kinds))

    def forward(self, envelope):
        x = self.stem(torch.log1p(10 * envelope)[:, None])
        for layer in self.layers:
            x = layer(x)
        return self.head(torch.cat([x.mean(-1), x.amax(-1)], 1))
