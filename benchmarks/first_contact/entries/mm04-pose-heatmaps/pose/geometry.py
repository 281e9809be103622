import math

import numpy as np
from PIL import Image


def crop_matrix(centre, size, rotation, out_size):
    """Affine map from crop pixels to image pixels (2x3)."""
    w, h = out_size
    scale = size / h
    a = math.radians(rotation)
    c, s = math.cos(a) * scale, math.sin(a) * scale
    return np.array([
        [c, -s, centre[0] - c * w / 2 + s * h / 2],
        [s, c, centre[1] - s * w / 2 - c * h / 2],
    ])


def invert(m):
    full = np.vstack([m, [0, 0, 1]])
    return np.linalg.inv(full)[:2]


def warp(image, matrix, out_size):
    return np.asarray(Image.fromarray(image).transform(out_size, Image.AFFINE, matrix.ravel(), Image.BILINEAR))


def apply(matrix, points):
    return points @ matrix[:, :2].T + matrix[:, 2]
