import torch
import torch.nn.functional as F


def cut_weights(readings, thresholds):
    """Rare old fish count more: the square root of how many lie on the scarcer side."""
    ages = torch.tensor(readings).flatten()
    older = torch.stack([(ages > k).sum() for k in range(thresholds)]).float()
    scarce = torch.minimum(older, len(ages) - older).clamp(min=1)
    return scarce.sqrt() / scarce.sqrt().max()


def ordinal_loss(logits, readings, weights):
    """Cross-entropy of every "older than k" against every reader's own age."""
    total = 0.0
    for reader in range(readings.shape[1]):
        for k in range(logits.shape[1]):
            older = (readings[:, reader] > k).float()
            total = total + weights[k] * F.binary_cross_entropy_with_logits(logits[:, k], older)
    return total / (weights.sum() * readings.shape[1])
