"""python prepare.py GITDIR: writes this folder anew from the git directory of vietnh1009/Tetris-deep-Q-learning-pytorch
(aaa937679989e6008f3daec583d989447b4824fc): train.py, src/, LICENSE, no line changed; shims/cv2.py (no window: imshow takes
a contiguous copy, waitKey waits as long as it is asked to, putText writes with PIL) and shims/tensorboardX.py
(torch.utils.tensorboard). No data."""
import os
import subprocess
import sys

git = sys.argv[1]
here = os.path.dirname(os.path.abspath(__file__))
COMMIT = 'aaa937679989e6008f3daec583d989447b4824fc'


def show(path):
    return subprocess.run(['git', '--git-dir=' + git, 'show', COMMIT + ':' + path], check=True,
                          capture_output=True, text=True).stdout


def write(path, text):
    path = os.path.join(here, path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, 'w') as f:
        f.write(text)


for name in ('train.py', 'src/tetris.py', 'src/deep_q_network.py', 'LICENSE'):
    write(name, show(name))
os.makedirs(os.path.join(here, 'trained_models'), exist_ok=True)
write('shims/tensorboardX.py', 'from torch.utils.tensorboard import SummaryWriter\n')
write('shims/cv2.py', '''import time
import numpy as np
from PIL import Image, ImageDraw

FONT_HERSHEY_DUPLEX = 2
_shown = {}
_words = {}


def putText(img, text, org, fontFace=0, fontScale=1.0, color=(0, 0, 0)):
    mask = _words.get(text)
    if mask is None:
        box = Image.new("L", (6 * len(text) + 2, 12))
        ImageDraw.Draw(box).text((0, 0), text, fill=255)
        mask = _words[text] = np.array(box) > 0
    x, y = org[0], max(org[1] - mask.shape[0], 0)
    part = img[y:y + mask.shape[0], x:x + mask.shape[1]]
    part[mask[:part.shape[0], :part.shape[1]]] = color
    return img


def imshow(name, img):
    _shown[name] = np.ascontiguousarray(img).copy()


def waitKey(delay=0):
    time.sleep(delay / 1000.0)
    return -1
''')
