"""Run once in the fetched folder: stand-ins for torchvision (synthetic MNIST, same item path: PIL image, transform) and matplotlib."""
import os
import numpy as np

STUBS = {}
STUBS["matplotlib/__init__.py"] = ""
STUBS["matplotlib/pyplot.py"] = "def __getattr__(name):\n    return lambda *a, **k: None\n"
STUBS["matplotlib/patches.py"] = "class Rectangle:\n    def __init__(self, *a, **k):\n        pass\n"
STUBS["torchvision/__init__.py"] = "from . import datasets, transforms\n"
STUBS["torchvision/transforms.py"] = '''import numpy as np
import torch


class Compose:
    def __init__(self, transforms):
        self.transforms = transforms

    def __call__(self, img):
        for t in self.transforms:
            img = t(img)
        return img


class ToTensor:
    def __call__(self, pic):
        img = torch.from_numpy(np.array(pic, np.uint8, copy=True))
        img = img.view(pic.size[1], pic.size[0], len(pic.getbands()))
        return img.permute((2, 0, 1)).contiguous().to(dtype=torch.get_default_dtype()).div(255)


class Normalize:
    def __init__(self, mean, std):
        self.mean, self.std = mean, std

    def __call__(self, tensor):
        tensor = tensor.clone()
        mean = torch.as_tensor(self.mean, dtype=tensor.dtype).view(-1, 1, 1)
        std = torch.as_tensor(self.std, dtype=tensor.dtype).view(-1, 1, 1)
        return tensor.sub_(mean).div_(std)
'''
STUBS["torchvision/datasets.py"] = '''import os
import numpy as np
import torch
from PIL import Image


class MNIST:
    def __init__(self, root, train=True, transform=None, target_transform=None, download=False):
        d = np.load(os.path.join(os.path.dirname(__file__), "mnist_%s.npz" % ("train" if train else "test")))
        self.data, self.targets = torch.from_numpy(d["x"]), torch.from_numpy(d["y"])
        self.transform = transform

    def __getitem__(self, index):
        img, target = self.data[index], int(self.targets[index])
        img = Image.fromarray(img.numpy())
        if self.transform is not None:
            img = self.transform(img)
        return img, target

    def __len__(self):
        return len(self.data)
'''


def digits(n, rng):
    yy, xx = np.mgrid[0:28, 0:28].astype(float)
    segs = [(8, 6, 8, 20), (14, 8, 14, 20), (20, 8, 20, 20), (8, 8, 14, 8), (14, 8, 20, 8), (8, 19, 14, 19), (14, 19, 20, 19)]
    on = ["0235461"[:6], "56", "0514" + "2", "05162", "3156", "03162", "034162", "056", "0123456", "031562"]
    y = rng.integers(0, 10, n)
    x = np.zeros((n, 28, 28), np.uint8)
    for k in range(n):
        im = np.zeros((28, 28))
        dy, dx, wd = rng.integers(-3, 4), rng.integers(-3, 4), rng.uniform(.9, 1.7)
        for s in on[y[k]]:
            r0, c0, r1, c1 = segs[int(s)]
            for t in np.linspace(0, 1, 9):
                im = np.maximum(im, np.exp(-((yy - dy - r0 - t * (r1 - r0)) ** 2 + (xx - dx - c0 - t * (c1 - c0)) ** 2) / wd ** 2 / 1.5))
        x[k] = (im * 255).astype(np.uint8)
    return x, y.astype(np.int64)


for path, text in STUBS.items():
    if os.path.dirname(path):
        os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as f:
        f.write(text)
rng = np.random.default_rng(1)
for name, n in (("train", 480), ("test", 120)):
    x, y = digits(n, rng)
    np.savez_compressed("torchvision/mnist_%s.npz" % name, x=x, y=y)
os.makedirs("saves", exist_ok=True)
