"""Figure error rate: edits from the predicted to the printed figures, per printed figure."""
import numpy as np

from data import END, PAD


def trim(tokens):
    figures = []
    for token in tokens:
        if token == END:
            break
        if token != PAD:
            figures.append(token)
    return figures


def edit_distance(a, b):
    table = np.zeros((len(a) + 1, len(b) + 1), dtype=np.int64)
    table[:, 0] = np.arange(len(a) + 1)
    table[0, :] = np.arange(len(b) + 1)
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            change = table[i - 1, j - 1] + (a[i - 1] != b[j - 1])
            table[i, j] = np.min([change, table[i - 1, j] + 1, table[i, j - 1] + 1])
    return int(table[-1, -1])


def figure_errors(predicted, printed):
    """(edits, figures) of a batch of token tensors."""
    edits, figures = 0, 0
    for guess, truth in zip(predicted.tolist(), printed.tolist()):
        guess, truth = trim(guess), trim(truth)
        edits += edit_distance(guess, truth)
        figures += len(truth)
    return edits, figures
