"""python prepare.py GITDIR: writes this folder anew from the git directory of tkipf/c-swm
(e944b24bcaa42d9ee847f30163437a50f0237aa0): train.py modules.py utils.py LICENSE, with one small edit; shims/h5py.py (reads
and writes the same groups in an .npz); data/balls_train.h5, 80 made-up episodes of three bodies that attract each other
(two frames of 50 x 50 in three colours per observation, 10 transitions an episode), in the form of data_gen/physics.py."""
import os
import subprocess
import sys
import numpy as np

git = sys.argv[1]
here = os.path.dirname(os.path.abspath(__file__))
COMMIT = 'e944b24bcaa42d9ee847f30163437a50f0237aa0'


def show(path):
    return subprocess.run(['git', '--git-dir=' + git, 'show', COMMIT + ':' + path], check=True,
                          capture_output=True, text=True).stdout


def write(path, text):
    path = os.path.join(here, path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, 'w') as f:
        f.write(text)


def change(text, old, new):
    assert old in text, old
    return text.replace(old, new)


write('train.py', change(show('train.py'), 'train_loader.__iter__().next()[0]', 'next(train_loader.__iter__())[0]'))
for name in ('modules.py', 'utils.py', 'LICENSE'):
    write(name, show(name))
write('shims/h5py.py', '''import numpy as np


class Group:
    def __init__(self, store, prefix):
        self.store, self.prefix = store, prefix

    def keys(self):
        n = len(self.prefix)
        names = [k[n:].split("/")[0] for k in self.store if k.startswith(self.prefix)]
        return sorted(set(names))

    def __getitem__(self, key):
        full = self.prefix + key
        return self.store[full] if full in self.store else Group(self.store, full + "/")


class File(Group):
    def __init__(self, name, mode="r"):
        assert mode == "r"
        self.name = name
        with open(name, "rb") as f:
            npz = np.load(f)
            store = {k: npz[k] for k in npz.files}
        super().__init__(store, "")

    def keys(self):
        return sorted({k.split("/")[0] for k in self.store})

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        return False
''')

rng = np.random.default_rng(1)
size, radius, episodes, frames = 50, 3.0, 80, 12
yy, xx = np.mgrid[0:size, 0:size] + 0.5


def episode():
    while True:
        a = rng.uniform(0, 2 * np.pi) + np.arange(3) * 2 * np.pi / 3 + rng.uniform(-0.25, 0.25, 3)
        r = rng.uniform(0.75, 1.25) * size / 4
        pos = np.stack([np.cos(a), np.sin(a)], 1) * r + size / 2
        a = a + rng.choice([-1, 1]) * np.pi / 2
        vel = 0.5 * np.stack([np.cos(a), np.sin(a)], 1) + rng.uniform(-0.5, 0.5, 2)
        seq = []
        for _ in range(frames):
            d = np.sqrt((xx[None] - pos[:, 0, None, None]) ** 2 + (yy[None] - pos[:, 1, None, None]) ** 2)
            seq.append((255 * np.clip(radius + 0.5 - d, 0, 1)).astype(np.uint8)[::-1])
            for _ in range(10):
                diff = pos[:, None] - pos[None]
                dist = np.linalg.norm(diff, axis=-1) + np.eye(3)
                vel = vel - 0.2 * 9.8 * (diff / dist[..., None] ** 3).sum(1)
                pos = pos + 0.2 * vel
            dist = np.linalg.norm(pos[:, None] - pos[None], axis=-1) + 99 * np.eye(3)
            if (pos < radius).any() or (pos > size - radius).any() or (dist < radius + 1).any():
                break
        if len(seq) == frames:
            return np.stack(seq)


out = {}
for i in range(episodes):
    x = episode()
    x = np.concatenate((x[:-1], x[1:]), 1) / 255.
    out['%d/obs' % i] = x[:-1]
    out['%d/next_obs' % i] = x[1:]
    out['%d/action' % i] = np.zeros(len(x) - 1, dtype=np.int64)
os.makedirs(os.path.join(here, 'data'), exist_ok=True)
with open(os.path.join(here, 'data', 'balls_train.h5'), 'wb') as f:
    np.savez_compressed(f, **out)
