import numpy as np
from sklearn.metrics import confusion_matrix


class SegmentationMeter:
    """Mean IoU, Dice and pixel accuracy over all batches since the last reset."""

    def __init__(self, num_classes):
        self.num_classes = num_classes
        self.reset()

    def reset(self):
        self.matrix = np.zeros((self.num_classes, self.num_classes), dtype=np.int64)

    def update(self, logits, target):
        prediction = logits.argmax(dim=1)
        self.matrix += confusion_matrix(target.flatten().numpy(), prediction.flatten().numpy(),
                                        labels=list(range(self.num_classes)))

    def compute(self):
        hits = np.diag(self.matrix)
        truth, guess = self.matrix.sum(axis=1), self.matrix.sum(axis=0)
        iou = hits / np.maximum(1, truth + guess - hits)
        dice = 2 * hits / np.maximum(1, truth + guess)
        return {"miou": iou.mean(), "dice": dice.mean(), "accuracy": hits.sum() / max(1, self.matrix.sum())}
