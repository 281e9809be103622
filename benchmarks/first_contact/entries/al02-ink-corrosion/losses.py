import torch
import torch.nn.functional as F

WINDOW = 15


def structure_loss(logits, mask):
    """Cross entropy and overlap, with the pixels near an edge of the mask counting more."""
    near = F.avg_pool2d(mask, kernel_size=WINDOW, stride=1, padding=WINDOW // 2)
    weight = 1 + 5 * torch.abs(near - mask)
    bce = F.binary_cross_entropy_with_logits(logits, mask, reduction="none")
    bce = (weight * bce).sum((2, 3)) / weight.sum((2, 3))
    prob = torch.sigmoid(logits)
    inter = (prob * mask * weight).sum((2, 3))
    union = ((prob + mask) * weight).sum((2, 3))
    overlap = 1 - (inter + 1) / (union - inter + 1)
    return (bce + overlap).mean()
