"""Four metrics of sklearn in numpy, for one binary vector each."""
import numpy as np


def jaccard_similarity_score(y_true, y_pred):
    y_true, y_pred = np.asarray(y_true) > 0, np.asarray(y_pred) > 0
    return (y_true & y_pred).sum() / max((y_true | y_pred).sum(), 1)


def roc_auc_score(y_true, y_score, average="macro"):
    y_true, y_score = np.asarray(y_true), np.asarray(y_score)
    order = y_score.argsort(kind="stable")
    ranks = np.empty(len(y_score))
    ranks[order] = np.arange(1, len(y_score) + 1)
    pos = int(y_true.sum())
    neg = len(y_true) - pos
    if pos == 0 or neg == 0:
        raise ValueError("only one class")
    return (ranks[y_true == 1].sum() - pos * (pos + 1) / 2) / (pos * neg)


def precision_score(y_true, y_pred, average="binary"):
    y_true, y_pred = np.asarray(y_true) > 0, np.asarray(y_pred) > 0
    return (y_true & y_pred).sum() / max(y_pred.sum(), 1)


def f1_score(y_true, y_pred, average="binary"):
    y_true, y_pred = np.asarray(y_true) > 0, np.asarray(y_pred) > 0
    scores = []
    for value in (False, True):
        t, p = y_true == value, y_pred == value
        scores.append(2 * (t & p).sum() / max(t.sum() + p.sum(), 1))
    return float(np.mean(scores)) if average == "macro" else scores[1]


def average_precision_score(y_true, y_score, average="macro"):
    y_true, y_score = np.asarray(y_true), np.asarray(y_score)
    hits = y_true[np.argsort(-y_score, kind="stable")]
    if hits.sum() == 0:
        return 0.0
    precision = hits.cumsum() / np.arange(1, len(hits) + 1)
    return float((precision * hits).sum() / hits.sum())
