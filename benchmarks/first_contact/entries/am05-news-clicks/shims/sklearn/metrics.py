import numpy as np


def roc_auc_score(y_true, y_score):
    y_true = np.asarray(y_true)
    y_score = np.asarray(y_score, dtype=float)
    positive = int(y_true.sum())
    negative = len(y_true) - positive
    if positive == 0 or negative == 0:
        raise ValueError("Only one class present in y_true. ROC AUC score is not defined in that case.")
    _, inverse, counts = np.unique(y_score, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2.0)[inverse]
    return (ranks[y_true == 1].sum() - positive * (positive + 1) / 2.0) / (positive * negative)
