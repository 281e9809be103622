"""Draws a small pedestrian data set in the Market-1501 folder layout: made-up clothes, cameras with their own tint."""
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFilter


def person(rng):
    return {
        "skin": tuple(int(v) for v in rng.integers([150, 100, 80], [235, 190, 170])),
        "hair": tuple(int(v) for v in rng.integers(10, 120, 3)),
        "top": tuple(int(v) for v in rng.integers(0, 255, 3)),
        "legs": tuple(int(v) for v in rng.integers(0, 255, 3)),
        "shoes": tuple(int(v) for v in rng.integers(0, 200, 3)),
        "stripe": int(rng.integers(0, 4)),
        "stripe_colour": tuple(int(v) for v in rng.integers(0, 255, 3)),
        "bag": rng.random() < 0.4,
        "bag_colour": tuple(int(v) for v in rng.integers(0, 255, 3)),
        "girth": rng.uniform(0.22, 0.34),
    }


def draw(p, camera, rng):
    h = int(rng.integers(200, 340))
    w = int(h * rng.uniform(0.42, 0.52))
    ground = np.clip(camera["ground"] + rng.normal(0, 12, (h // 8 + 1, w // 8 + 1, 3)), 0, 255).astype(np.uint8)
    img = Image.fromarray(ground).resize((w, h), Image.BILINEAR)
    d = ImageDraw.Draw(img)
    cx, s = w * rng.uniform(0.44, 0.56), p["girth"] * w
    top, waist, foot = h * rng.uniform(0.16, 0.2), h * rng.uniform(0.5, 0.56), h * rng.uniform(0.93, 0.98)
    d.ellipse([cx - 0.1 * h / 2, top - 0.13 * h, cx + 0.1 * h / 2, top], fill=p["skin"])
    d.pieslice([cx - 0.1 * h / 2, top - 0.14 * h, cx + 0.1 * h / 2, top - 0.01 * h], 180, 360, fill=p["hair"])
    d.rectangle([cx - s, top, cx + s, waist], fill=p["top"])
    for k in range(p["stripe"]):
        y = top + (k + 1) * (waist - top) / (p["stripe"] + 1)
        d.rectangle([cx - s, y - h * 0.012, cx + s, y + h * 0.012], fill=p["stripe_colour"])
    step = rng.uniform(-0.5, 0.5) * s
    for side in (-1, 1):
        d.polygon([(cx + side * s, waist), (cx, waist), (cx + side * s * 0.3 + side * step, foot),
                   (cx + side * s + side * step, foot)], fill=p["legs"])
        x = cx + side * s * 0.65 + side * step
        d.ellipse([x - 0.4 * s, foot - 0.03 * h, x + 0.5 * s, foot + 0.01 * h], fill=p["shoes"])
    if p["bag"]:
        d.rectangle([cx + s * 0.6, top + 0.1 * h, cx + s * 1.4, waist], fill=p["bag_colour"])
    img = img.filter(ImageFilter.GaussianBlur(rng.uniform(0.3, 1.4)))
    x = np.asarray(img, np.float32) * camera["gain"] + camera["offset"] + rng.normal(0, 6, (h, w, 3))
    return Image.fromarray(np.clip(x, 0, 255).astype(np.uint8))


def main():
    rng = np.random.default_rng(21)
    root = Path("data/crops")
    cameras = [{"ground": rng.uniform(60, 190, 3), "gain": rng.uniform(0.75, 1.15, 3), "offset": rng.uniform(-18, 18, 3)}
               for _ in range(6)]
    for part in ("train", "query", "gallery"):
        (root / part).mkdir(parents=True, exist_ok=True)
    for pid in range(1, 141):
        p, frame = person(rng), 0
        for cam in rng.choice(6, 4, replace=False):
            for _ in range(2):
                draw(p, cameras[cam], rng).save(root / "train" / f"{pid:04d}_c{cam + 1}_{frame:06d}.jpg", quality=92)
                frame += 1
    for pid in range(501, 561):
        p, frame = person(rng), 0
        cams = rng.choice(6, 4, replace=False)
        for i, cam in enumerate(cams):
            if i == 0:
                draw(p, cameras[cam], rng).save(root / "query" / f"{pid:04d}_c{cam + 1}_{frame:06d}.jpg", quality=92)
                frame += 1
            for _ in range(1 if i == 0 else 2):
                draw(p, cameras[cam], rng).save(root / "gallery" / f"{pid:04d}_c{cam + 1}_{frame:06d}.jpg", quality=92)
                frame += 1


if __name__ == "__main__":
    main()
