"""python prepare.py GITDIR: writes this folder anew from the git directory of auspicious3000/autovc
(c1827a60e83e6d26030b8953843b2f7cf2bd36db): main.py solver_encoder.py data_loader.py model_vc.py LICENSE, with a narrower
network; spmel/, 40 made-up speakers of 12 utterances (mel spectrograms of 90 to 400 frames x 80, float32) and train.pkl
with a speaker embedding each, in the form of make_metadata.py. No shims."""
import os
import pickle
import subprocess
import sys
import numpy as np

git = sys.argv[1]
here = os.path.dirname(os.path.abspath(__file__))
COMMIT = 'c1827a60e83e6d26030b8953843b2f7cf2bd36db'


def show(path):
    return subprocess.run(['git', '--git-dir=' + git, 'show', COMMIT + ':' + path], check=True,
                          capture_output=True, text=True).stdout


def write(path, text):
    with open(os.path.join(here, path), 'w') as f:
        f.write(text)


def change(text, old, new):
    assert old in text, old
    return text.replace(old, new)


for name in ('main.py', 'solver_encoder.py', 'data_loader.py', 'LICENSE'):
    write(name, show(name))
write('model_vc.py', change(change(show('model_vc.py'), '512', '192'), '1024', '256'))

rng = np.random.default_rng(4)
meta = []
for s in range(40):
    speaker = 'p%03d' % (225 + s)
    folder = os.path.join(here, 'spmel', speaker)
    os.makedirs(folder, exist_ok=True)
    emb = rng.standard_normal(256)
    entry = [speaker, (emb / np.linalg.norm(emb)).astype(np.float32)]
    tilt = rng.uniform(0.2, 0.5)
    for u in range(12):
        n = int(rng.integers(90, 400))
        t = np.arange(n)[:, None]
        f = np.arange(80)[None]
        mel = 0.6 - tilt * f / 80
        for _ in range(3):
            c = rng.uniform(5, 60) + rng.uniform(2, 10) * np.sin(2 * np.pi * t / rng.uniform(30, 120) + rng.uniform(0, 6))
            mel = mel + 0.3 * np.exp(-((f - c) / 4.0) ** 2)
        mel = mel * (0.5 + 0.5 * np.sin(2 * np.pi * t / rng.uniform(20, 60))) + 0.03 * rng.standard_normal((n, 80))
        name = '%s_%03d.npy' % (speaker, u)
        np.save(os.path.join(folder, name), np.clip(mel, 0, 1).astype(np.float32))
        entry.append(os.path.join(speaker, name))
    meta.append(entry)
with open(os.path.join(here, 'spmel', 'train.pkl'), 'wb') as f:
    pickle.dump(meta, f)
