"""MNIST and CIFAR10 from local files (no downloads), items made as torchvision makes them."""
import os
import pickle

import numpy as np
import torch
from PIL import Image


class MNIST(torch.utils.data.Dataset):
    def __init__(self, root, train=True, transform=None, target_transform=None, download=False):
        self.transform, self.target_transform = transform, target_transform
        self.data, self.targets = torch.load(
            os.path.join(root, "MNIST", "processed", "training.pt" if train else "test.pt"))

    def __getitem__(self, index):
        img, target = self.data[index], int(self.targets[index])
        img = Image.fromarray(img.numpy())
        if self.transform is not None:
            img = self.transform(img)
        if self.target_transform is not None:
            target = self.target_transform(target)
        return img, target

    def __len__(self):
        return len(self.data)


class CIFAR10(torch.utils.data.Dataset):
    def __init__(self, root, train=True, transform=None, target_transform=None, download=False):
        self.transform, self.target_transform = transform, target_transform
        with open(os.path.join(root, "cifar-10-batches-py", "data_batch_1" if train else "test_batch"), "rb") as f:
            entry = pickle.load(f, encoding="latin1")
        self.data = np.vstack([entry["data"]]).reshape(-1, 3, 32, 32).transpose((0, 2, 3, 1))
        self.targets = entry["labels"]

    def __getitem__(self, index):
        img, target = self.data[index], self.targets[index]
        img = Image.fromarray(img)
        if self.transform is not None:
            img = self.transform(img)
        if self.target_transform is not None:
            target = self.target_transform(target)
        return img, target

    def __len__(self):
        return len(self.data)
