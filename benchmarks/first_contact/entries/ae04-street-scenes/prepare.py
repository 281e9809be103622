import os

import numpy as np
from PIL import Image, ImageDraw, ImageFilter

WIDTH, HEIGHT = 480, 360
COLOURS = [(150, 170, 200), (120, 80, 60), (170, 170, 140), (90, 80, 90), (70, 60, 130), (70, 110, 50),
           (190, 130, 120), (90, 90, 120), (120, 30, 110), (110, 90, 40), (30, 110, 160), (10, 10, 10)]

rng = np.random.default_rng(11)


def scene():
    labels = Image.new('L', (WIDTH, HEIGHT), 0)
    draw = ImageDraw.Draw(labels)
    horizon = int(rng.integers(130, 200))
    x = 0
    while x < WIDTH:
        w = int(rng.integers(40, 130))
        draw.rectangle([x, horizon - int(rng.integers(20, 130)), x + w, HEIGHT], fill=1 if rng.random() < 0.7 else 5)
        x += w
    vanish = int(rng.integers(180, 300))
    draw.rectangle([0, horizon + 20, WIDTH, HEIGHT], fill=4)
    draw.polygon([(vanish - 15, horizon), (vanish + 15, horizon), (WIDTH - 40, HEIGHT), (40, HEIGHT)], fill=3)
    for _ in range(rng.integers(3, 9)):
        px, py = int(rng.integers(0, WIDTH)), int(rng.integers(horizon, HEIGHT - 60))
        s = 10 + (py - horizon) // 3
        kind = int(rng.choice([2, 6, 7, 8, 8, 9, 10, 11]))
        if kind == 2:
            draw.rectangle([px, py - 4 * s, px + 3, py], fill=2)
        elif kind == 9:
            draw.ellipse([px, py - 2 * s, px + s // 2, py], fill=9)
        else:
            draw.rectangle([px, py - s, px + 2 * s, py], fill=kind)
    lab = np.asarray(labels)
    img = np.asarray(COLOURS, float)[lab] * rng.uniform(0.8, 1.2, (len(COLOURS), 1))[lab]
    img = np.clip(img + rng.normal(0, 12, img.shape), 0, 255).astype(np.uint8)
    return Image.fromarray(img).filter(ImageFilter.GaussianBlur(1)), labels


os.makedirs('save', exist_ok=True)
for part, count in (('train', 90), ('val', 20), ('test', 4)):
    os.makedirs('data/CamVid/' + part, exist_ok=True)
    os.makedirs('data/CamVid/' + part + 'annot', exist_ok=True)
    for i in range(count):
        image, labels = scene()
        image.save('data/CamVid/%s/%04d.png' % (part, i), compress_level=3)
        labels.save('data/CamVid/%sannot/%04d.png' % (part, i))
