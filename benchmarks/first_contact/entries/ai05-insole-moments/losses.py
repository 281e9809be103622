"""Errors over the stance phase only: in swing the plates measure nothing."""
import torch


def stance_loss(pred, target, toe_off, slope_weight=0.5, peak_weight=0.1):
    total = 0.0
    for i in range(len(pred)):
        end = int(toe_off[i])
        p, t = pred[i, :, :end], target[i, :, :end]
        error = (p - t).square().mean()
        slope = (p.diff(dim=-1) - t.diff(dim=-1)).abs().mean()
        peak = (p.amax(dim=-1) - t.amax(dim=-1)).abs().mean()
        total = total + error + slope_weight * slope + peak_weight * peak
    return total / len(pred)


def stance_rmse(pred, target, toe_off):
    """Root mean square error of each joint over stance, a row a stride."""
    inside = torch.arange(pred.shape[-1])[None, None] < toe_off[:, None, None]
    squares = (pred - target).square() * inside
    return (squares.sum(dim=-1) / toe_off[:, None]).sqrt()
