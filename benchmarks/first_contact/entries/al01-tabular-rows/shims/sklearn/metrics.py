import numpy as np


def roc_auc_score(y_true, y_score):
    y_true, y_score = np.asarray(y_true), np.asarray(y_score)
    _, inverse, counts = np.unique(y_score, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[inverse]
    positive = y_true == 1
    n = positive.sum()
    return (ranks[positive].sum() - n * (n + 1) / 2) / (n * (len(y_true) - n))


def mean_squared_error(y_true, y_pred, squared=True):
    error = np.mean((np.asarray(y_true).reshape(-1) - np.asarray(y_pred).reshape(-1)) ** 2)
    return error if squared else np.sqrt(error)
