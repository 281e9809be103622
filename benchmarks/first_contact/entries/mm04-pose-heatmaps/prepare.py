"""Draws stick people with 16 joints on textured grounds (MPII-like) and writes images and annotations."""
import json
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

BONES = [(0, 1), (1, 2), (2, 6), (3, 6), (3, 4), (4, 5), (6, 7), (7, 8), (8, 9), (10, 11), (11, 12), (12, 7), (13, 7), (13, 14), (14, 15)]
COLOURS = np.random.default_rng(0).integers(40, 255, (len(BONES), 3))


def limb(at, angle, length):
    return at + length * np.array([np.sin(angle), np.cos(angle)])


def skeleton(rng):
    s = rng.uniform(0.75, 1.05)
    j = np.zeros((16, 2))
    lean = rng.normal(0, 0.15)
    j[6] = 0
    j[7] = limb(j[6], np.pi + lean, 0.30 * s)
    j[8] = limb(j[7], np.pi + lean + rng.normal(0, 0.1), 0.08 * s)
    j[9] = limb(j[8], np.pi + lean + rng.normal(0, 0.15), 0.14 * s)
    for hip, knee, ankle, side in ((2, 1, 0, -1), (3, 4, 5, 1)):
        j[hip] = j[6] + [side * 0.07 * s, 0.01]
        a = rng.normal(side * 0.15, 0.35)
        j[knee] = limb(j[hip], a, 0.24 * s)
        j[ankle] = limb(j[knee], a + rng.normal(0, 0.35), 0.23 * s)
    for shoulder, elbow, wrist, side in ((12, 11, 10, -1), (13, 14, 15, 1)):
        j[shoulder] = j[7] + [side * 0.11 * s, 0.02]
        a = rng.normal(side * 0.5, 0.8)
        j[elbow] = limb(j[shoulder], a, 0.17 * s)
        j[wrist] = limb(j[elbow], a + rng.normal(0, 0.9), 0.16 * s)
    return j


def picture(rng, w=160, h=192):
    small = rng.integers(30, 200, (6, 5, 3)).astype(np.uint8)
    img = Image.fromarray(small).resize((w, h), Image.BICUBIC)
    joints = skeleton(rng) * h * 0.82 + [w * rng.uniform(0.42, 0.58), h * rng.uniform(0.46, 0.54)]
    d = ImageDraw.Draw(img)
    for b in rng.permutation(len(BONES)):
        p, q = BONES[b]
        colour = tuple(int(v) for v in np.clip(COLOURS[b] + rng.normal(0, 15, 3), 0, 255))
        d.line([tuple(joints[p]), tuple(joints[q])], fill=colour, width=int(rng.integers(5, 10)))
    d.ellipse([*(joints[9] - 9), *(joints[9] + 9)], fill=(220, 180, 150))
    x = np.asarray(img, np.float32) + rng.normal(0, 8, (h, w, 3))
    inside = (joints[:, 0] > 0) & (joints[:, 0] < w) & (joints[:, 1] > 0) & (joints[:, 1] < h)
    visible = inside & (rng.random(16) > 0.05)
    low, high = joints.min(0), joints.max(0)
    return np.clip(x, 0, 255).astype(np.uint8), joints, visible, (low + high) / 2, float(np.max(high - low) * 1.2)


def main():
    rng = np.random.default_rng(33)
    root = Path("data/figures")
    root.mkdir(parents=True, exist_ok=True)
    for part, n in (("train", 960), ("valid", 160)):
        images, notes = np.empty((n, 192, 160, 3), np.uint8), []
        for i in range(n):
            images[i], joints, visible, centre, size = picture(rng)
            notes.append({"joints": joints.round(2).tolist(), "visible": visible.astype(int).tolist(),
                          "center": centre.round(2).tolist(), "size": round(size, 2)})
        np.save(root / f"{part}_images.npy", images)
        (root / f"{part}_joints.json").write_text(json.dumps(notes))


if __name__ == "__main__":
    main()
