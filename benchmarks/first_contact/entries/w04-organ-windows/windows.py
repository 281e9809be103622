"""Prediction of a whole volume by overlapping windows."""
import numpy as np
import torch
from scipy.ndimage import gaussian_filter


def importance(window, sigma=0.125):
    """Weights of the voxels of a window, highest in its middle."""
    peak = np.zeros(window, dtype=np.float32)
    peak[tuple(side // 2 for side in window)] = 1
    weights = gaussian_filter(peak, [sigma * side for side in window], order=0, mode="constant", cval=0)
    weights /= weights.max()
    weights[weights == 0] = weights[weights != 0].min()
    return torch.from_numpy(weights)


def starts(length, window, overlap):
    if length <= window:
        return [0]
    step = max(1, int(window * (1 - overlap)))
    count = -(-(length - window) // step) + 1
    return [round(i * (length - window) / (count - 1)) for i in range(count)]


class SlidingPredictor:
    def __init__(self, network, classes, window=(32, 48, 48), overlap=0.5, batch=2):
        self.network, self.classes = network.eval(), classes
        self.window, self.overlap, self.batch = window, overlap, batch

    def places(self, shape):
        axes = [starts(length, side, self.overlap) for length, side in zip(shape, self.window)]
        return [tuple(slice(s, s + side) for s, side in zip((z, y, x), self.window))
                for z in axes[0] for y in axes[1] for x in axes[2]]

    def run_batch(self, volume, places, total, weight):
        windows = torch.stack([volume[place] for place in places]).unsqueeze(1)
        scores = self.network(windows)
        for place, score in zip(places, scores):
            share = importance(self.window)
            total[(slice(None), *place)] += score * share
            weight[place] += share

    @torch.inference_mode()
    def __call__(self, volume):
        """Class probabilities for a volume on the grid of the network."""
        total = torch.zeros(self.classes, *volume.shape)
        weight = torch.zeros(volume.shape)
        places = self.places(volume.shape)
        for i in range(0, len(places), self.batch):
            self.run_batch(volume, places[i:i + self.batch], total, weight)
        return torch.softmax(total / weight, 0)
