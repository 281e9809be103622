import torch
from PIL import Image


def make_grid(x, nrow=8, normalize=False):
    x = x.detach().float()
    if normalize:
        x = (x - x.min()) / (x.max() - x.min() + 1e-5)
    n, c, h, w = x.shape
    rows = (n + nrow - 1) // nrow
    g = torch.zeros(c, rows * h, nrow * w)
    for i in range(n):
        r, q = divmod(i, nrow)
        g[:, r * h : (r + 1) * h, q * w : (q + 1) * w] = x[i]
    return g


def save_image(x, fp, nrow=8, normalize=False):
    g = make_grid(x, nrow, normalize).mul(255).clamp(0, 255).to(torch.uint8)[0].numpy()
    Image.fromarray(g).save(fp)
