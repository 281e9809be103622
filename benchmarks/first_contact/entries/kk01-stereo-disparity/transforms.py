import random

import numpy as np
import torch


class Compose:
    def __init__(self, steps):
        self.steps = steps

    def __call__(self, sample):
        for step in self.steps:
            sample = step(sample)
        return sample


class ToFloat:
    def __call__(self, sample):
        for side in ("left", "right"):
            sample[side] = sample[side].astype(np.float32) / 255.0
        return sample


class RandomGamma:
    """Gamma and brightness per camera, as two real cameras never agree exactly."""

    def __init__(self, gamma=(0.8, 1.25), brightness=(0.8, 1.2)):
        self.gamma = gamma
        self.brightness = brightness

    def __call__(self, sample):
        for side in ("left", "right"):
            gamma = random.uniform(*self.gamma)
            scale = random.uniform(*self.brightness)
            sample[side] = np.clip(scale * np.power(sample[side], gamma), 0.0, 1.0)
        return sample


class RandomChannelGain:
    def __init__(self, low=0.9, high=1.1):
        self.low = low
        self.high = high

    def __call__(self, sample):
        gain = np.array([random.uniform(self.low, self.high) for _ in range(3)], np.float32)
        for side in ("left", "right"):
            sample[side] = np.clip(sample[side] * gain, 0.0, 1.0)
        return sample


class RandomVerticalFlip:
    def __call__(self, sample):
        if random.random() < 0.5:
            for key in ("left", "right", "disp"):
                sample[key] = np.flipud(sample[key])
        return sample


class RandomCrop:
    def __init__(self, height, width):
        self.height = height
        self.width = width

    def __call__(self, sample):
        h, w = sample["disp"].shape
        top = random.randint(0, h - self.height)
        first = random.randint(0, w - self.width)
        for key in ("left", "right", "disp"):
            sample[key] = sample[key][top:top + self.height, first:first + self.width]
        return sample


class Normalize:
    def __init__(self, mean=(0.485, 0.456, 0.406), std=(0.229, 0.224, 0.225)):
        self.mean = np.array(mean, np.float32)
        self.std = np.array(std, np.float32)

    def __call__(self, sample):
        for side in ("left", "right"):
            sample[side] = (sample[side] - self.mean) / self.std
        return sample


class ToTensor:
    def __call__(self, sample):
        for side in ("left", "right"):
            sample[side] = torch.from_numpy(np.ascontiguousarray(sample[side].transpose(2, 0, 1)))
        sample["disp"] = torch.from_numpy(np.ascontiguousarray(sample["disp"]))
        return sample


def train_transform(height, width):
    return Compose([
        ToFloat(),
        RandomGamma(),
        RandomChannelGain(),
        Normalize(),
        RandomVerticalFlip(),
        RandomCrop(height, width),
        ToTensor(),
    ])


def val_transform():
    return Compose([ToFloat(), Normalize(), ToTensor()])
