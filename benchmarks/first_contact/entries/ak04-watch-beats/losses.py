import torch
import torch.nn.functional as F

NAMES = ("kind", "gauges", "phase")


def reading_loss(outputs, kind, reading):
    """Cross entropy, Gaussian likelihood of the two gauges, and one minus the cosine of the phase error."""
    logits, mean, spread, hand = outputs
    gauges, turn = reading[:, :2], reading[:, 2:]
    spread = spread.clamp(-4.0, 3.0)
    likelihood = 0.5 * ((gauges - mean) * torch.exp(-spread)).square() + spread
    parts = torch.stack([
        F.cross_entropy(logits, kind, label_smoothing=0.05),
        likelihood.mean(),
        1.0 - (hand * turn).sum(1).mean(),
    ])
    return parts.sum(), parts.detach()


@torch.no_grad()
def reading_errors(outputs, kind, reading):
    """Sums over a batch: right kinds, degrees of amplitude, milliseconds of beat error, degrees of phase."""
    logits, mean, _, hand = outputs
    gauge = (mean - reading[:, :2]).abs().sum(0)
    cosine = (hand * reading[:, 2:]).sum(1).clamp(-1.0, 1.0)
    return torch.stack([
        (logits.argmax(1) == kind).sum().float(),
        43.0 * gauge[0],
        1.6 * gauge[1],
        torch.rad2deg(torch.acos(cosine)).sum(),
    ])
