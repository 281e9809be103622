import json
import random
from pathlib import Path

import numpy as np
import torch
from torch.utils.data import Dataset

from pose.geometry import apply, crop_matrix, invert, warp

FLIP_PAIRS = [(0, 5), (1, 4), (2, 3), (10, 15), (11, 14), (12, 13)]
MEAN = np.array([0.485, 0.456, 0.406], np.float32)
STD = np.array([0.229, 0.224, 0.225], np.float32)


class JointsDataset(Dataset):
    def __init__(self, root, part, image_size=(96, 128), heatmap_size=(48, 64), sigma=2.0, train=False):
        root = Path(root)
        self.images = np.load(root / f"{part}_images.npy", mmap_mode="r")
        self.notes = json.loads((root / f"{part}_joints.json").read_text())
        self.image_size, self.heatmap_size = image_size, heatmap_size
        self.sigma, self.train = sigma, train
        self.num_joints = 16

    def __len__(self):
        return len(self.notes)

    def __getitem__(self, i):
        note = self.notes[i]
        image = np.asarray(self.images[i])
        joints = np.array(note["joints"], np.float64)
        visible = np.array(note["visible"], np.float32)
        centre, size, rotation = np.array(note["center"]), note["size"], 0.0
        if self.train:
            size *= float(np.clip(1 + 0.25 * random.gauss(0, 1), 0.75, 1.25))
            if random.random() < 0.6:
                rotation = float(np.clip(30 * random.gauss(0, 1), -60, 60))
            if random.random() < 0.5:
                w = image.shape[1]
                image = image[:, ::-1]
                joints[:, 0] = w - 1 - joints[:, 0]
                centre[0] = w - 1 - centre[0]
                for a, b in FLIP_PAIRS:
                    joints[[a, b]] = joints[[b, a]]
                    visible[[a, b]] = visible[[b, a]]
        matrix = crop_matrix(centre, size, rotation, self.image_size)
        crop = warp(np.ascontiguousarray(image), matrix, self.image_size)
        joints = apply(invert(matrix), joints)
        target, weight = self.generate_target(joints, visible)
        x = (crop.astype(np.float32) / 255.0 - MEAN) / STD
        meta = {"index": i, "matrix": torch.from_numpy(matrix)}
        return torch.from_numpy(x.transpose(2, 0, 1).copy()), torch.from_numpy(target), torch.from_numpy(weight), meta

    def generate_target(self, joints, visible):
        w, h = self.heatmap_size
        target = np.zeros((self.num_joints, h, w), np.float32)
        weight = visible.reshape(-1, 1).copy()
        stride = np.array(self.image_size) / np.array(self.heatmap_size)
        xx, yy = np.meshgrid(np.arange(w), np.arange(h))
        for j in range(self.num_joints):
            mx, my = joints[j] / stride
            if not (0 <= mx < w and 0 <= my < h):
                weight[j] = 0
            if weight[j] > 0.5:
                target[j] = np.exp(-((xx - mx) ** 2 + (yy - my) ** 2) / (2 * self.sigma ** 2))
        return target, weight
