import copy

import torch


class EMA:
    """Shadow copy of a model with exponentially averaged weights."""

    def __init__(self, model, decay=0.995, warmup=100):
        self.shadow = copy.deepcopy(model).eval().requires_grad_(False)
        self.decay, self.warmup = decay, warmup
        self.updates = 0

    @torch.no_grad()
    def update(self, model):
        self.updates += 1
        decay = min(self.decay, self.updates / (self.updates + self.warmup))
        for name, param in model.named_parameters():
            target = dict(self.shadow.named_parameters())[name]
            target.lerp_(param, 1.0 - decay)
        for name, buf in model.named_buffers():
            dict(self.shadow.named_buffers())[name].copy_(buf)
