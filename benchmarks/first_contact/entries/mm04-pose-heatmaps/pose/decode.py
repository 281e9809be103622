import math

import numpy as np


def max_preds(heatmaps):
    n, k, h, w = heatmaps.shape
    flat = heatmaps.reshape(n, k, -1)
    index, value = flat.argmax(2), flat.max(2)
    preds = np.stack([index % w, index // w], -1).astype(np.float32)
    preds[value <= 0] = 0
    return preds, value


def calc_dists(preds, target, normalize):
    dists = np.zeros((preds.shape[1], preds.shape[0]))
    for n in range(preds.shape[0]):
        for c in range(preds.shape[1]):
            if target[n, c, 0] > 1 and target[n, c, 1] > 1:
                dists[c, n] = np.linalg.norm(preds[n, c] / normalize[n] - target[n, c] / normalize[n])
            else:
                dists[c, n] = -1
    return dists


def dist_acc(dists, thr=0.5):
    valid = dists != -1
    return (dists[valid] < thr).mean() if valid.any() else -1


def accuracy(output, target, thr=0.5):
    """PCK on heatmaps: per joint, mean over the joints seen, and their number."""
    n, k, h, w = output.shape
    pred, _ = max_preds(output)
    goal, _ = max_preds(target)
    dists = calc_dists(pred, goal, np.ones((n, 2)) * np.array([h, w]) / 10)
    acc = [dist_acc(dists[c], thr) for c in range(k)]
    seen = [a for a in acc if a >= 0]
    return np.array(acc), float(np.mean(seen)) if seen else 0.0, len(seen)


def final_preds(heatmaps, matrices, stride):
    """Sub-pixel peaks mapped back to the image."""
    coords, values = max_preds(heatmaps)
    n, k, h, w = heatmaps.shape
    for i in range(n):
        for j in range(k):
            hm = heatmaps[i, j]
            x, y = int(math.floor(coords[i, j, 0] + 0.5)), int(math.floor(coords[i, j, 1] + 0.5))
            if 1 < x < w - 1 and 1 < y < h - 1:
                diff = np.array([hm[y, x + 1] - hm[y, x - 1], hm[y + 1, x] - hm[y - 1, x]])
                coords[i, j] += np.sign(diff) * 0.25
    crop = coords * stride
    return np.einsum("nab,nkb->nka", matrices[:, :, :2], crop) + matrices[:, None, :, 2], values
