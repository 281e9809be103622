import numpy as np
from sklearn.metrics import average_precision_score, roc_auc_score


def per_label(truth, score):
    """AUROC and average precision of every label that has both outcomes in the sample."""
    aurocs, auprcs = [], []
    for k in range(truth.shape[1]):
        y = truth[:, k]
        if y.min() == y.max():
            continue
        aurocs.append(roc_auc_score(y, score[:, k]))
        auprcs.append(average_precision_score(y, score[:, k]))
    return np.array(aurocs), np.array(auprcs)


def recall_at(truth, score, k):
    top = np.argpartition(-score, k, axis=1)[:, :k]
    found = np.take_along_axis(truth, top, axis=1).sum(1)
    return float((found / np.maximum(truth.sum(1), 1)).mean())
