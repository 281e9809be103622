"""make_grid and save_image for batches of colour pictures."""
import math

import torch
from PIL import Image


def make_grid(tensor, nrow=8, padding=2, normalize=False, pad_value=0.0):
    n = tensor.size(0)
    xmaps = min(nrow, n)
    ymaps = int(math.ceil(float(n) / xmaps))
    height, width = int(tensor.size(2) + padding), int(tensor.size(3) + padding)
    grid = tensor.new_full((tensor.size(1), height * ymaps + padding, width * xmaps + padding), pad_value)
    k = 0
    for y in range(ymaps):
        for x in range(xmaps):
            if k >= n:
                break
            grid.narrow(1, y * height + padding, height - padding).narrow(
                2, x * width + padding, width - padding).copy_(tensor[k])
            k += 1
    return grid


@torch.no_grad()
def save_image(tensor, fp, nrow=8, normalize=False):
    grid = make_grid(tensor, nrow=nrow, normalize=normalize)
    ndarr = grid.mul(255).add_(0.5).clamp_(0, 255).permute(1, 2, 0).to("cpu", torch.uint8).numpy()
    Image.fromarray(ndarr).save(fp)
