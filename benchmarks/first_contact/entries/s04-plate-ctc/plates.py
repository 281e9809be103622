"""Number plates drawn from a 5 x 7 bitmap font, with jitter, shading, blur and noise."""
import numpy as np
import torch
from torch.utils.data import Dataset

GLYPHS = {
    "0": "0e11131519110e", "1": "040c040404040e", "2": "0e11010204081f", "3": "1f02040201110e", "4": "02060a121f0202",
    "5": "1f101e0101110e", "6": "0608101e11110e", "7": "1f010204080808", "8": "0e11110e11110e", "9": "0e11110f01020c",
    "A": "0e11111f111111", "B": "1e11111e11111e", "C": "0e11101010110e", "E": "1f10101e10101f", "H": "1111111f111111",
    "K": "11121418141211", "M": "111b1515111111", "P": "1e11111e101010", "T": "1f040404040404", "X": "11110a040a1111",
}
ALPHABET = "".join(sorted(GLYPHS))
BLANK = 0
HEIGHT, WIDTH, MAX_CHARS = 24, 96, 8


def bitmap(char):
    rows = bytes.fromhex(GLYPHS[char])
    return np.array([[(row >> (4 - c)) & 1 for c in range(5)] for row in rows], dtype=np.float32)


FONT = np.stack([bitmap(c) for c in ALPHABET])


def draw_plate(text, rng):
    image = np.zeros((HEIGHT, WIDTH), dtype=np.float32)
    x, y = int(rng.integers(1, 6)), int(rng.integers(1, HEIGHT - 16))
    for char in text:
        glyph = np.kron(FONT[char], np.ones((2, 2), dtype=np.float32))
        top = int(np.clip(y + rng.integers(-1, 2), 0, HEIGHT - 14))
        image[top : top + 14, x : x + 10] = np.maximum(image[top : top + 14, x : x + 10], glyph)
        x += 10 + int(rng.integers(0, 2))
        if x + 10 > WIDTH:
            break
    if rng.random() < 0.7:
        image[1:-1, 1:-1] = 0.5 * image[1:-1, 1:-1] + 0.125 * (image[:-2, 1:-1] + image[2:, 1:-1] + image[1:-1, :-2] + image[1:-1, 2:])
    shade = np.linspace(rng.uniform(0.5, 1), rng.uniform(0.5, 1), WIDTH, dtype=np.float32)
    image = image * shade * rng.uniform(0.6, 1.0) + rng.uniform(0, 0.25)
    image += rng.normal(0, 0.08, image.shape)
    return (image.clip(0, 1) * 255).astype(np.uint8)


class Plates(Dataset):
    """Plates kept as bytes; indexing with a list of positions gives a whole batch."""

    def __init__(self, count, seed):
        rng = np.random.default_rng(seed)
        self.lengths = torch.from_numpy(rng.integers(4, MAX_CHARS + 1, count))
        texts = [rng.integers(0, len(ALPHABET), int(n)) for n in self.lengths]
        self.images = torch.from_numpy(np.stack([draw_plate(t, rng) for t in texts]))
        self.texts = torch.zeros(count, MAX_CHARS, dtype=torch.long)
        for row, text in zip(self.texts, texts):
            row[: len(text)] = torch.from_numpy(text + 1)

    def __len__(self):
        return len(self.images)

    def __getitem__(self, index):
        index = torch.as_tensor(index)
        images = self.images[index].unsqueeze(1).float().div_(127.5).sub_(1.0)
        return images, self.texts[index], self.lengths[index]
