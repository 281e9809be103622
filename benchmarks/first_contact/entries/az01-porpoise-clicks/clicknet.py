import torch
from torch import nn


def filter_bank(bands, bins, lowest):
    edges = torch.linspace(lowest, bins - 1, bands + 2)
    k = torch.arange(bins).float()
    up = (k[None] - edges[:-2, None]) / (edges[1:-1] - edges[:-2])[:, None]
    down = (edges[2:, None] - k[None]) / (edges[2:] - edges[1:-1])[:, None]
    return torch.minimum(up, down).clamp_(min=0).t().contiguous()


class Spectrogram(nn.Module):
    def __init__(self, n_fft=256, hop=128, bands=48):
        super().__init__()
        self.n_fft, self.hop = n_fft, hop
        self.register_buffer("window", torch.hann_window(n_fft))
        self.register_buffer("bank", filter_bank(bands, n_fft // 2 + 1, 6))

    @torch.no_grad()
    def forward(self, wave):
        z = torch.stft(wave, self.n_fft, self.hop, window=self.window, center=False, return_complex=True)
        power = torch.view_as_real(z).square().sum(-1)
        logs = (power.transpose(1, 2) @ self.bank).add_(1e-6).log_()
        return logs.sub_(logs.mean((1, 2), keepdim=True)).mul_(0.4)


def mask_bands(spec, generator, widest=(10, 8)):
    """SpecAugment: one stripe of frames and one of bands for each clip, set to the mean (0)."""
    for dim, wide in zip((1, 2), widest):
        size = spec.shape[dim]
        width = torch.randint(wide + 1, (len(spec), 1), generator=generator)
        start = (torch.rand(len(spec), 1, generator=generator) * (size - width)).long()
        at = torch.arange(size)
        stripe = (at >= start) & (at < start + width)
        spec.masked_fill_(stripe.unsqueeze(3 - dim), 0.0)
    return spec


def block(cin, cout, kernel, stride):
    return nn.Sequential(
        nn.Conv2d(cin, cout, kernel, stride, kernel // 2, bias=False),
        nn.BatchNorm2d(cout),
        nn.ReLU(inplace=True),
    )


class ClickNet(nn.Module):
    def __init__(self, classes, width=32):
        super().__init__()
        self.body = nn.Sequential(
            block(1, width, 5, 2),
            block(width, 2 * width, 3, 1),
            block(2 * width, 2 * width, 3, 2),
            block(2 * width, 4 * width, 3, 1),
            block(4 * width, 4 * width, 3, 2),
        )
        self.head = nn.Linear(4 * width, classes)

    def forward(self, spec):
        return self.head(self.body(spec.unsqueeze(1)).mean((2, 3)))
