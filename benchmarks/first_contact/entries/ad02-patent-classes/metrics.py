import numpy as np
from sklearn.metrics import f1_score


def tune_thresholds(targets, scores, grid=np.linspace(0.1, 0.7, 7)):
    """Threshold of the best F1 for every class."""
    thresholds = np.zeros(targets.shape[1])
    for c in range(targets.shape[1]):
        best = -1.0
        for t in grid:
            f1 = f1_score(targets[:, c], scores[:, c] > t, zero_division=0)
            if f1 > best:
                best, thresholds[c] = f1, t
    return thresholds


def report(targets, scores):
    thresholds = tune_thresholds(targets, scores)
    predicted = scores > thresholds
    return {
        "micro_f1": f1_score(targets, predicted, average="micro", zero_division=0),
        "macro_f1": f1_score(targets, predicted, average="macro", zero_division=0),
    }
