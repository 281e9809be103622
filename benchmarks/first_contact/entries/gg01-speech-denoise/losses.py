import torch
from torch import nn


def si_sdr(estimate, target, eps=1e-8):
    estimate = estimate - estimate.mean(-1, keepdim=True)
    target = target - target.mean(-1, keepdim=True)
    scale = (estimate * target).sum(-1, keepdim=True) / (target.pow(2).sum(-1, keepdim=True) + eps)
    projection = scale * target
    noise = estimate - projection
    return 10 * torch.log10((projection.pow(2).sum(-1) + eps) / (noise.pow(2).sum(-1) + eps))


class SpectralLoss(nn.Module):
    def __init__(self, sizes=(256, 512, 1024)):
        super().__init__()
        self.sizes = sizes

    def magnitude(self, audio, size):
        window = torch.hann_window(size, device=audio.device)
        return torch.stft(audio, size, size // 4, window=window, return_complex=True).abs()

    def forward(self, estimate, target):
        loss = 0.0
        for size in self.sizes:
            loss = loss + (self.magnitude(estimate, size) - self.magnitude(target, size)).abs().mean()
        return loss / len(self.sizes)
