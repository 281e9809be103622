import math
import random

import numpy as np
import torch
from PIL import Image

MEAN = np.array([0.485, 0.456, 0.406], np.float32)
STD = np.array([0.229, 0.224, 0.225], np.float32)


class Compose:
    def __init__(self, steps):
        self.steps = steps

    def __call__(self, x):
        for step in self.steps:
            x = step(x)
        return x


class Resize:
    def __init__(self, height, width):
        self.size = (width, height)

    def __call__(self, img):
        return img.resize(self.size, Image.BICUBIC)


class RandomFlip:
    def __init__(self, p=0.5):
        self.p = p

    def __call__(self, img):
        return img.transpose(Image.FLIP_LEFT_RIGHT) if random.random() < self.p else img


class PadCrop:
    def __init__(self, pad):
        self.pad = pad

    def __call__(self, img):
        w, h = img.size
        canvas = Image.new("RGB", (w + 2 * self.pad, h + 2 * self.pad))
        canvas.paste(img, (self.pad, self.pad))
        x, y = random.randint(0, 2 * self.pad), random.randint(0, 2 * self.pad)
        return canvas.crop((x, y, x + w, y + h))


class ToTensor:
    def __call__(self, img):
        x = np.asarray(img, np.float32) / 255.0
        x = (x - MEAN) / STD
        return torch.from_numpy(np.ascontiguousarray(x.transpose(2, 0, 1)))


class RandomErasing:
    def __init__(self, p=0.5, low=0.02, high=0.3, ratio=0.3):
        self.p, self.low, self.high, self.ratio = p, low, high, ratio

    def __call__(self, x):
        if random.random() > self.p:
            return x
        _, h, w = x.shape
        for _ in range(20):
            area = random.uniform(self.low, self.high) * h * w
            aspect = math.exp(random.uniform(math.log(self.ratio), -math.log(self.ratio)))
            eh, ew = round(math.sqrt(area * aspect)), round(math.sqrt(area / aspect))
            if eh < h and ew < w:
                top, left = random.randint(0, h - eh), random.randint(0, w - ew)
                x[:, top:top + eh, left:left + ew] = 0.0
                return x
        return x


def train_transform(height, width):
    return Compose([Resize(height, width), RandomFlip(), PadCrop(6), ToTensor(), RandomErasing()])


def test_transform(height, width):
    return Compose([Resize(height, width), ToTensor()])
