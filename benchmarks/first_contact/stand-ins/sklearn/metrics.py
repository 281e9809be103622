import numpy as np


def roc_auc_score(y, p):
    y, p = np.asarray(y), np.asarray(p)
    r = np.empty(len(p))
    r[np.argsort(p)] = np.arange(1, len(p) + 1)
    n1 = y.sum()
    return (r[y > 0].sum() - n1 * (n1 + 1) / 2) / (n1 * (len(y) - n1))
