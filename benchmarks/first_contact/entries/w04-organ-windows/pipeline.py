"""From a scan to a segmentation on the grid of the scan."""
import numpy as np
import torch
import torch.nn.functional as F
from scipy import ndimage


class Segmenter:
    def __init__(self, predictor, spacing=(3.0, 1.75, 1.75), low=-200.0, high=500.0):
        self.predictor, self.spacing = predictor, spacing
        self.low, self.high = low, high

    def prepare(self, case):
        shape = [round(n * have / want) for n, have, want in zip(case.scan.shape, case.spacing, self.spacing)]
        shape = [max(n, side) for n, side in zip(shape, self.predictor.window)]
        scan = case.scan.clamp(self.low, self.high)
        scan = F.interpolate(scan[None, None], size=shape, mode="trilinear", align_corners=True)[0, 0]
        return (scan - scan.mean()) / scan.std()

    def restore(self, probabilities, shape):
        """Probabilities resampled to the grid of the scan, then the likeliest class."""
        factors = [want / have for want, have in zip(shape, probabilities.shape[1:])]
        resampled = np.zeros((len(probabilities), *shape), dtype=np.float32)
        for index, channel in enumerate(probabilities.numpy()):
            resampled[index] = ndimage.zoom(channel, factors, order=1)
        return torch.from_numpy(resampled.argmax(0))

    def __call__(self, case):
        probabilities = self.predictor(self.prepare(case))
        return self.restore(probabilities, case.scan.shape)


def dice(prediction, truth, classes):
    pairs = torch.bincount(truth.flatten() * classes + prediction.flatten(), minlength=classes ** 2)
    table = pairs.view(classes, classes).float()
    return 2 * table.diagonal() / (table.sum(0) + table.sum(1)).clamp_min(1)
