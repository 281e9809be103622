import torch
import torch.nn as nn


class SupConLoss(nn.Module):
    """Supervised contrastive loss, eq. 2 of Khosla et al."""

    def __init__(self, temperature=0.1):
        super().__init__()
        self.temperature = temperature

    def forward(self, z, labels):
        n = z.shape[0]
        sim = torch.mm(z, z.t()) / self.temperature
        eye = torch.eye(n, dtype=torch.bool)
        log_prob = sim - torch.logsumexp(sim.masked_fill(eye, float("-inf")), dim=1, keepdim=True)
        loss, used = 0.0, 0
        for i in range(n):
            positives = [j for j in range(n) if j != i and labels[j] == labels[i]]
            if len(positives) == 0:
                continue
            loss = loss - log_prob[i, positives].mean()
            used += 1
        return loss / max(used, 1)
