"""Run once in the fetched folder: synthetic Chinese headlines in the THUCNews format (text TAB label), stand-ins for sklearn.metrics and tensorboardX."""
import os
import numpy as np

rng = np.random.default_rng(2)
C = ["finance", "realty", "stocks", "education", "science", "society", "politics", "sports", "game", "entertainment"]
chars = [chr(c) for c in range(0x4e00, 0x4e00 + 4700)]
freq = 1 / np.arange(3, 4703) ** .9
own = [rng.permutation(4700)[:160] for _ in C]


def write(path, n):
    with open(path, "w", encoding="UTF-8") as f:
        for _ in range(n):
            y = rng.integers(len(C))
            m = int(rng.integers(10, 25))
            t = rng.choice(4700, m, p=freq / freq.sum())
            k = rng.random(m) < .3
            t[k] = rng.choice(own[y], k.sum())
            f.write("".join(chars[i] for i in t) + "\t%d\n" % y)


for d in ("data", "saved_dict", "log"):
    os.makedirs("THUCNews/" + d, exist_ok=True)
with open("THUCNews/data/class.txt", "w") as f:
    f.write("\n".join(C))
write("THUCNews/data/train.txt", 4800)
write("THUCNews/data/dev.txt", 400)
write("THUCNews/data/test.txt", 400)
os.makedirs("sklearn", exist_ok=True)
with open("sklearn/__init__.py", "w") as f:
    f.write("from . import metrics\n")
with open("sklearn/metrics.py", "w") as f:
    f.write('''import numpy as np


def accuracy_score(t, p):
    return float(np.mean(np.asarray(t) == np.asarray(p)))


def confusion_matrix(t, p):
    m = np.zeros((10, 10), int)
    np.add.at(m, (np.asarray(t), np.asarray(p)), 1)
    return m


def classification_report(t, p, target_names=None, digits=2):
    m = confusion_matrix(t, p)
    return "\\n".join("%15s %.*f" % (n, digits, m[i, i] / max(1, m[i].sum())) for i, n in enumerate(target_names))
''')
with open("tensorboardX.py", "w") as f:
    f.write("from torch.utils.tensorboard import SummaryWriter\n")
