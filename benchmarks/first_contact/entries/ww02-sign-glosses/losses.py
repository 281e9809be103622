import torch
from torch import nn


class LabelSmoothing(nn.Module):
    """KL divergence to the smoothed distribution of the targets (as in the Annotated Transformer)."""

    def __init__(self, size, padding_idx, smoothing=0.1):
        super().__init__()
        self.criterion = nn.KLDivLoss(reduction="sum")
        self.padding_idx = padding_idx
        self.confidence = 1.0 - smoothing
        self.smoothing = smoothing
        self.size = size
        self.true_dist = None

    def forward(self, logits, target):
        x = torch.log_softmax(logits, dim=-1)
        true_dist = x.detach().clone()
        true_dist.fill_(self.smoothing / (self.size - 2))
        true_dist.scatter_(1, target.unsqueeze(1), self.confidence)
        true_dist[:, self.padding_idx] = 0
        mask = torch.nonzero(target == self.padding_idx)
        if mask.dim() > 0:
            true_dist.index_fill_(0, mask.squeeze(1), 0.0)
        self.true_dist = true_dist
        return self.criterion(x, true_dist)
