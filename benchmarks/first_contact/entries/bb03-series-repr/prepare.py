"""python prepare.py GITDIR: writes this folder anew from the git directory of yuezhihan/ts2vec
(b0088e14a99706c05451316dc6db8d3da9351163): train.py ts2vec.py datautils.py utils.py models/ tasks/ LICENSE, with small
edits; datasets/UCR/Gestures, 360 + 240 made-up series of 150 points in six
classes in the archive's form."""
import os
import subprocess
import sys
import numpy as np

git = sys.argv[1]
here = os.path.dirname(os.path.abspath(__file__))
COMMIT = 'b0088e14a99706c05451316dc6db8d3da9351163'


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


for name in ('ts2vec.py', 'datautils.py', 'utils.py', 'models/__init__.py', 'models/dilated_conv.py', 'models/encoder.py',
             'models/losses.py', 'tasks/__init__.py', 'tasks/_eval_protocols.py',
             'tasks/classification.py', 'tasks/forecasting.py', 'LICENSE'):
    write(name, show(name))
write('train.py', change(show('train.py'), 'init_dl_program(args.gpu,', "init_dl_program('cpu',"))
write('tasks/anomaly_detection.py', change(show('tasks/anomaly_detection.py'), 'import bottleneck as bn\n', ''))

rng = np.random.default_rng(5)
length, classes = 150, 6
t = np.linspace(0, 1, length)
shapes = [sum(rng.standard_normal() / k * np.sin(2 * np.pi * k * t + rng.uniform(0, 6)) for k in range(1, 9))
          for _ in range(classes)]


def series(label):
    warp = np.clip(t + 0.06 * np.sin(2 * np.pi * t + rng.uniform(0, 6)) * rng.standard_normal(), 0, 1)
    y = np.interp(warp, t, shapes[label]) + 0.25 * np.cumsum(rng.standard_normal(length)) / np.sqrt(length)
    y = y + 0.1 * rng.standard_normal(length)
    return (y - y.mean()) / y.std()


os.makedirs(os.path.join(here, 'datasets', 'UCR', 'Gestures'), exist_ok=True)
for part, n in (('TRAIN', 360), ('TEST', 240)):
    rows = []
    for i in range(n):
        label = i % classes
        rows.append('\t'.join(['%d' % (label + 1)] + ['%.6f' % v for v in series(label)]))
    write('datasets/UCR/Gestures/Gestures_%s.tsv' % part, '\n'.join(rows) + '\n')
