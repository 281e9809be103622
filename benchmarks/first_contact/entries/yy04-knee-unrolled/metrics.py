import numpy as np


def psnr(gt, pred):
    return 20 * np.log10(gt.max() / np.sqrt(np.mean((gt - pred) ** 2)))


def ssim(gt, pred, win=8, stride=4):
    """Mean structural similarity over sliding windows of two real images."""
    span = gt.max() - gt.min()
    c1, c2 = (0.01 * span) ** 2, (0.03 * span) ** 2
    values = []
    for i in range(0, gt.shape[0] - win + 1, stride):
        for j in range(0, gt.shape[1] - win + 1, stride):
            a = gt[i:i + win, j:j + win]
            b = pred[i:i + win, j:j + win]
            ma, mb = a.mean(), b.mean()
            cov = ((a - ma) * (b - mb)).mean()
            values.append((2 * ma * mb + c1) * (2 * cov + c2)
                          / ((ma ** 2 + mb ** 2 + c1) * (a.var() + b.var() + c2)))
    return float(np.mean(values))
