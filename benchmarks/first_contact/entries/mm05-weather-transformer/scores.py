import torch


def weighted_mse(pred, target, lat_weight):
    return ((pred - target).square() * lat_weight).mean()


def rmse(pred, target, lat_weight):
    """Latitude-weighted, per variable, mean over samples."""
    return ((pred - target).square() * lat_weight).mean((-2, -1)).sqrt().mean(0)


def acc(pred, target, climatology, lat_weight):
    a, b = pred - climatology, target - climatology
    top = (a * b * lat_weight).sum((-2, -1))
    bottom = ((a.square() * lat_weight).sum((-2, -1)) * (b.square() * lat_weight).sum((-2, -1))).sqrt()
    return (top / bottom).mean(0)
