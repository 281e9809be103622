import math

import torch


class TimeSurface:
    """Leaky memories of the events of every pixel at several time constants.

    The memories go on across training steps, as they do on the device.
    """

    def __init__(self, sensors, size, taus_ms, bin_ms):
        self.decay = torch.tensor([math.exp(-bin_ms / tau) for tau in taus_ms]).view(1, -1, 1, 1, 1)
        self.memory = torch.zeros(sensors, len(taus_ms), 2, size, size)

    def update(self, events):
        for one in events:
            self.memory.mul_(self.decay).add_(one.unsqueeze(1))
        return self.memory.flatten(1, 2)
