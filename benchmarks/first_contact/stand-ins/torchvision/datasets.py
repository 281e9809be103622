import os

import numpy as np
import torch
from PIL import Image


class MNIST(torch.utils.data.Dataset):
    def __init__(self, root, train=True, transform=None, download=False):
        n = int(os.environ.get("FAKE_MNIST", "6000" if train else "2000"))
        g = np.random.RandomState(0 if train else 1)
        self.targets = torch.from_numpy(g.randint(0, 10, n))
        base = g.rand(10, 28, 28) * 255
        noise = g.rand(n, 28, 28) * 60
        self.data = torch.from_numpy(np.clip(base[self.targets.numpy()] * 0.75 + noise, 0, 255).astype(np.uint8))
        self.transform = transform

    train_data = test_data = property(lambda s: s.data)
    train_labels = test_labels = property(lambda s: s.targets)

    def __len__(self):
        return len(self.data)

    def __getitem__(self, index):
        img, target = self.data[index], int(self.targets[index])
        img = Image.fromarray(img.numpy(), mode="L")
        if self.transform is not None:
            img = self.transform(img)
        return img, target
