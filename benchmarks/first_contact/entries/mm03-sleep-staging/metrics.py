import numpy as np


def confusion(true, pred, classes):
    return np.bincount(true * classes + pred, minlength=classes * classes).reshape(classes, classes)


def summary(matrix):
    total = matrix.sum()
    hit = np.diag(matrix)
    accuracy = hit.sum() / total
    expected = (matrix.sum(0) * matrix.sum(1)).sum() / total ** 2
    f1 = []
    for k in range(len(matrix)):
        f1.append(2 * hit[k] / max(1, matrix[k].sum() + matrix[:, k].sum()))
    return {"accuracy": accuracy, "kappa": (accuracy - expected) / (1 - expected), "macro_f1": float(np.mean(f1)), "f1": f1}
