"""What the surveyors ask of a model: errors of the bulge with their 95 % intervals."""

import numpy as np


def bulge_scores(predicted, measured):
    error = predicted - measured
    rest = measured - measured.mean()
    return {
        "mae": np.abs(error).mean(),
        "bias": error.mean(),
        "p90": np.quantile(np.abs(error), 0.9),
        "r2": 1 - (error**2).sum() / (rest**2).sum(),
    }


def intervals(predicted, measured, resamples=2000, seed=0):
    rng = np.random.default_rng(seed)
    count = len(measured)
    drawn = {}
    for _ in range(resamples):
        pick = rng.integers(0, count, count)
        for name, value in bulge_scores(predicted[pick], measured[pick]).items():
            drawn.setdefault(name, []).append(value)
    return {name: tuple(np.quantile(values, [0.025, 0.975])) for name, values in drawn.items()}
