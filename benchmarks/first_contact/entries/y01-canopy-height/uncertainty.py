"""Monte Carlo dropout: predictive mean and standard deviation."""
import torch
from torch import nn

from network import SCALE


class MonteCarlo:
    def __init__(self, model, samples):
        self.model = model.eval()
        self.samples = samples
        for module in self.model.modules():
            if isinstance(module, nn.Dropout2d):
                module.train()

    @torch.inference_mode()
    def __call__(self, images):
        """Mean height, spread between the samples, and noise, each (batch, h, w) in metres."""
        total, squares, noise = 0.0, 0.0, 0.0
        for _ in range(self.samples):
            height, log_variance = self.model(images)
            total = total + height
            squares = squares + height.square()
            noise = noise + log_variance.exp()
        mean = total / self.samples
        spread = (squares / self.samples - mean.square()).clamp(min=0)
        return mean * SCALE, spread.sqrt() * SCALE, (noise / self.samples).sqrt() * SCALE
