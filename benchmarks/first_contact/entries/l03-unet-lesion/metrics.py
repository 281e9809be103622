"""Overlap and boundary metrics for binary masks."""
import torch


def dice(pred, target, eps=1e-6):
    inter = (pred & target).sum((-2, -1)).float()
    total = pred.sum((-2, -1)).float() + target.sum((-2, -1)).float()
    return (2 * inter + eps) / (total + eps)


def directed_distances(a, b):
    """Distance of every foreground pixel of a to the closest foreground pixel of b."""
    pa = torch.nonzero(a).float()
    pb = torch.nonzero(b).float()
    return torch.cdist(pa, pb, compute_mode="donot_use_mm_for_euclid_dist").amin(1)


def hausdorff(pred, target, percentile=0.95):
    if not pred.any() or not target.any():
        return torch.tensor(float(max(pred.shape)))
    ab = directed_distances(pred, target)
    ba = directed_distances(target, pred)
    return torch.maximum(torch.quantile(ab, percentile), torch.quantile(ba, percentile))


class SegmentationMeter:
    def __init__(self):
        self.dice, self.hd = [], []

    def update(self, logits, target):
        pred = logits[:, 0] > 0
        target = target[:, 0] > 0.5
        self.dice.append(dice(pred, target))
        self.hd.append(torch.stack([hausdorff(p, t) for p, t in zip(pred, target)]))

    def summary(self):
        return torch.cat(self.dice).mean().item(), torch.cat(self.hd).mean().item()
