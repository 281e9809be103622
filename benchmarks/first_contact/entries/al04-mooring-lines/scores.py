import torch


def ensemble_crps(forecast, observed):
    """Fair CRPS of an ensemble (batch, member, lead, line), averaged over everything else."""
    members = forecast.shape[1]
    miss = (forecast - observed.unsqueeze(1)).abs().mean(1)
    apart = (forecast.unsqueeze(2) - forecast.unsqueeze(1)).abs().sum((1, 2))
    return (miss - apart / (2 * members * (members - 1))).mean()


def coverage(forecast, observed, level=0.9):
    tail = (1 - level) / 2
    low, high = torch.quantile(forecast, torch.tensor([tail, 1 - tail]), dim=1)
    return ((observed >= low) & (observed <= high)).float().mean()
