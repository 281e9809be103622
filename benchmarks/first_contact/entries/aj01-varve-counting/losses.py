import numpy as np
import torch
import torch.nn.functional as F

SIGMAS = (3.0, 9.0)


def gaussian(sigma):
    taps = np.arange(-int(3 * sigma), int(3 * sigma) + 1)
    kernel = np.exp(-0.5 * (taps / sigma) ** 2)
    return torch.from_numpy(kernel / kernel.sum())[None, None]


def blurred_error(probability, target):
    """A boundary set down a little beside its place should cost less than one that is missing."""
    total = 0.0
    for sigma in SIGMAS:
        kernel = gaussian(sigma)
        pad = kernel.shape[-1] // 2
        ours = F.conv1d(probability.unsqueeze(1).to(kernel.dtype), kernel, padding=pad)
        true = F.conv1d(target.unsqueeze(1).to(kernel.dtype), kernel, padding=pad)
        total = total + sigma * F.mse_loss(ours, true)
    return total


def span_error(probability, target, every=2):
    """Years between any two depths of the window, ours against the counted ones."""
    ours = probability.cumsum(1)[:, ::every]
    true = target.cumsum(1)[:, ::every]
    ours = ours[:, :, None] - ours[:, None, :]
    true = true[:, :, None] - true[:, None, :]
    return ((ours - true) / 10).square().mean()


def varve_loss(output, target):
    edge, distance = output[:, 0], output[:, 1]
    probability = torch.sigmoid(edge)
    parts = {
        "edge": F.binary_cross_entropy_with_logits(edge, target[:, 0]),
        "distance": F.smooth_l1_loss(distance, target[:, 1]),
        "blur": 4.0 * blurred_error(probability, target[:, 0]),
        "span": 0.02 * span_error(probability, target[:, 0]),
    }
    return sum(parts.values()), parts
