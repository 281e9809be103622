"""Renders made-up views (coloured balls, 400 x 400, RGBA) of one scene in the layout of the Blender scenes of NeRF:
data/nerf_synthetic/scene with 10 training, 2 validation and 2 test views and transforms_*.json."""
import json
import os
import numpy as np
from PIL import Image

rng = np.random.default_rng(4)
root = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'data', 'nerf_synthetic', 'scene')
n, angle = 400, 0.6911112070083618
focal = 0.5 * n / np.tan(0.5 * angle)
centres = rng.uniform(-0.9, 0.9, (7, 3))
radii = rng.uniform(0.25, 0.5, 7)
colours = rng.uniform(0.1, 1.0, (7, 3))


def pose(theta, phi, r=4.0):
    o = r * np.array([np.cos(phi) * np.cos(theta), np.cos(phi) * np.sin(theta), np.sin(phi)])
    z = o / np.linalg.norm(o)
    x = np.cross([0, 0, 1.0], z)
    x /= np.linalg.norm(x)
    m = np.eye(4)
    m[:3, 0], m[:3, 1], m[:3, 2], m[:3, 3] = x, np.cross(z, x), z, o
    return m


def view(m):
    i, j = np.meshgrid(np.arange(n), np.arange(n), indexing='xy')
    d = np.stack([(i - n / 2) / focal, -(j - n / 2) / focal, -np.ones(i.shape)], -1) @ m[:3, :3].T
    d /= np.linalg.norm(d, axis=-1, keepdims=True)
    best = np.full(i.shape, np.inf)
    img = np.zeros((n, n, 4), np.uint8)
    light = np.array([0.4, 0.3, 0.87])
    for c, r, col in zip(centres, radii, colours):
        oc = m[:3, 3] - c
        b = d @ oc
        disc = b * b - (oc @ oc - r * r)
        t = -b - np.sqrt(np.maximum(disc, 0))
        hit = (disc > 0) & (t < best)
        nrm = (m[:3, 3] + t[..., None] * d - c) / r
        shade = 0.35 + 0.65 * np.clip(nrm @ light, 0, 1)
        img[hit, :3] = (255 * np.clip(shade[..., None] * col, 0, 1))[hit].astype(np.uint8)
        img[hit, 3] = 255
        best[hit] = t[hit]
    return img


for split, k in (('train', 10), ('val', 2), ('test', 2)):
    os.makedirs(os.path.join(root, split), exist_ok=True)
    frames = []
    for f in range(k):
        m = pose(rng.uniform(0, 2 * np.pi), rng.uniform(0.2, 1.1))
        Image.fromarray(view(m)).save(os.path.join(root, split, 'r_%d.png' % f))
        frames.append({'file_path': './%s/r_%d' % (split, f), 'transform_matrix': m.tolist()})
    with open(os.path.join(root, 'transforms_%s.json' % split), 'w') as fp:
        json.dump({'camera_angle_x': angle, 'frames': frames}, fp, indent=1)
