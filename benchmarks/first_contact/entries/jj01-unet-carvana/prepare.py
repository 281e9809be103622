"""Writes data/imgs and data/masks: made-up cars on a background in the layout of Carvana (jpg and _mask.gif)."""
import os
import sys

import numpy as np
from PIL import Image, ImageDraw, ImageFilter

N, W, H = 300, 96, 64

here = os.path.dirname(os.path.abspath(__file__))
rng = np.random.default_rng(7)
for d in ("imgs", "masks"):
    os.makedirs(os.path.join(here, "data", d), exist_ok=True)
for i in range(N):
    noise = Image.fromarray(rng.integers(90, 200, (12, 18, 3), dtype=np.uint8)).resize((W, H), Image.BICUBIC)
    mask = Image.new("L", (W, H), 0)
    d = ImageDraw.Draw(mask)
    x, y = rng.integers(10, 30), rng.integers(25, 36)
    w, h = rng.integers(44, 56), rng.integers(12, 18)
    d.rounded_rectangle([int(x), int(y), int(x + w), int(y + h)], 6, fill=255)
    d.polygon([(int(x + w * .2), int(y)), (int(x + w * .35), int(y - h * .6)), (int(x + w * .7), int(y - h * .6)), (int(x + w * .85), int(y))], fill=255)
    for c in (.22, .78):
        cx, cy = x + w * c, y + h
        d.ellipse([int(cx - 5), int(cy - 5), int(cx + 5), int(cy + 5)], fill=255)
    colour = Image.new("RGB", (W, H), tuple(int(v) for v in rng.integers(0, 255, 3)))
    img = Image.composite(colour, noise, mask).filter(ImageFilter.GaussianBlur(.7))
    a = np.asarray(img).astype(int) + rng.normal(0, 6, (H, W, 3))
    name = f"{rng.integers(16 ** 11, 16 ** 12):012x}_{i % 16 + 1:02d}"
    Image.fromarray(a.clip(0, 255).astype(np.uint8)).save(os.path.join(here, "data", "imgs", name + ".jpg"), quality=92)
    mask.convert("1").convert("L").point(lambda v: 1 if v else 0).save(os.path.join(here, "data", "masks", name + "_mask.gif"))
