"""Stand-in: loadmat reads what prepare.py wrote (an npz under the name of the .mat file)."""
import numpy as np


def loadmat(path):
    with np.load(path) as archive:
        return {name: archive[name] for name in archive.files}
