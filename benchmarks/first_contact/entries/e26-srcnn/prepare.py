"""Run once in the fetched folder: synthetic patches in two .h5 files and a small stand-in for h5py (a file of named arrays, opened and read at each access)."""
import json
import os
import numpy as np

STUB = '''import json
import mmap
import numpy as np


class _Group(dict):
    pass


class File:
    """Header of 4096 * n bytes with the table of contents, then the arrays; opened anew by each File()."""

    def __init__(self, path, mode="r"):
        self.f = open(path, "rb")
        n = int(self.f.read(16))
        toc = json.loads(self.f.read(n))
        self.m = mmap.mmap(self.f.fileno(), 0, access=mmap.ACCESS_READ)
        self.items = {}
        for name, (dtype, shape, off) in toc.items():
            a = np.frombuffer(self.m, dtype, int(np.prod(shape)), 16 + n + off).reshape(shape)
            d = self.items
            *parts, last = name.split("/")
            for p in parts:
                d = d.setdefault(p, _Group())
            d[last] = a

    def __getitem__(self, k):
        return self.items[k]

    def __enter__(self):
        return self

    def __exit__(self, *a):
        self.items = None
        self.f.close()
'''
with open("h5py.py", "w") as f:
    f.write(STUB)


def save(path, arrays):
    toc, off = {}, 0
    for k, a in arrays.items():
        toc[k] = (a.dtype.str, a.shape, off)
        off += a.nbytes
    h = json.dumps(toc).encode()
    h += b" " * (-(len(h) + 16) % 64)
    with open(path, "wb") as f:
        f.write(b"%16d" % len(h) + h)
        for a in arrays.values():
            f.write(np.ascontiguousarray(a).tobytes())


rng = np.random.default_rng(6)


def picture(h, w):
    yy, xx = np.mgrid[0:h, 0:w].astype(np.float32)
    im = np.zeros((h, w), np.float32)
    for _ in range(5):
        a, b, p = rng.uniform(-.6, .6, 2).tolist() + [rng.uniform(0, 6)]
        im += np.sin(a * xx + b * yy + p)
    im += 2 * (np.hypot(xx - rng.uniform(0, w), yy - rng.uniform(0, h)) < rng.uniform(4, 20))
    im = (im - im.min()) / (im.max() - im.min())
    return (16 + 219 * im).astype(np.float32)


def blur(im):
    h, w = im.shape
    s = im[:h // 3 * 3, :w // 3 * 3].reshape(h // 3, 3, w // 3, 3).mean((1, 3))
    return np.repeat(np.repeat(s, 3, 0), 3, 1).astype(np.float32)


os.makedirs("data", exist_ok=True)
hr = np.stack([picture(33, 33) for _ in range(400)])
save("data/91-image_x3.h5", {"lr": np.stack([blur(p) for p in hr]), "hr": hr})
big = {"hr/%d" % i: picture(96, 96) for i in range(5)}
save("data/Set5_x3.h5", {**{k.replace("hr", "lr"): blur(v) for k, v in big.items()}, **big})
