"""Synthetic aerial pictures of a car park: scenes.npz with pictures, boxes (cx, cy, w, h, kind) and counts."""
import numpy as np

SIZE, MOST = 96, 24
COLOURS = np.array([[200, 40, 40], [40, 60, 190], [225, 225, 225], [30, 30, 30], [90, 140, 90]])


def scene(rng):
    picture = np.full((SIZE, SIZE, 3), 120, np.float32) + rng.normal(0, 7, (SIZE, SIZE, 1))
    boxes = []
    rows = rng.integers(3, 5)
    for row in range(rows):
        top = int(4 + row * (SIZE - 8) / rows)
        for bay in range(8):
            left = 2 + bay * 11 + int(rng.integers(0, 3))
            picture[top:top + 18, 2 + bay * 11, :] = 230
            if rng.random() > 0.62 or len(boxes) == MOST:
                continue
            kind = int(rng.random() < 0.2)
            w, h = (7 + rng.integers(0, 2), 12 + rng.integers(0, 3)) if kind == 0 else (8 + rng.integers(0, 2), 17)
            y = min(top + int(rng.integers(0, 3)), SIZE - h)
            x = min(left, SIZE - w)
            picture[y:y + h, x:x + w] = COLOURS[rng.integers(0, 5)] + rng.normal(0, 10, 3)
            picture[y + h // 4:y + h // 3 + 1, x + 1:x + w - 1] = 60
            boxes.append([(x + w / 2) / SIZE, (y + h / 2) / SIZE, w / SIZE, h / SIZE, kind])
    table = np.zeros((MOST, 5), np.float32)
    table[:len(boxes)] = np.array(boxes, np.float32).reshape(-1, 5)
    return picture.clip(0, 255).astype(np.uint8), table, len(boxes)


def main():
    rng = np.random.default_rng(33)
    for split, count in (("train", 640), ("val", 128)):
        pictures, boxes, counts = zip(*(scene(rng) for _ in range(count)))
        np.savez(f"{split}.npz", pictures=np.stack(pictures), boxes=np.stack(boxes), counts=np.array(counts))


if __name__ == "__main__":
    main()
