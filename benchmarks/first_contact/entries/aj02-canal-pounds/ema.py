import copy

import torch


class Average:
    """Exponential average of the weights, used for validation."""

    def __init__(self, model, decay=0.995):
        self.model = copy.deepcopy(model).requires_grad_(False)
        self.decay = decay
        self.ours = list(self.model.parameters())
        self.theirs = list(model.parameters())

    @torch.no_grad()
    def update(self):
        torch._foreach_lerp_(self.ours, self.theirs, 1 - self.decay)
