import torch
import torch.nn.functional as F


def jaccard(a, b):
    """Share of common tags among all tags, for every pair of rows."""
    common = a @ b.t()
    either = a.sum(1, keepdim=True) + b.sum(1) - common
    return common / either


def tag_contrast(queries, query_tags, keys, key_tags, temperature=0.1, floor=0.2):
    """Clips that share tags attract one another in proportion to how many they share."""
    with torch.no_grad():
        weight = jaccard(query_tags, key_tags)
        weight = torch.where(weight >= floor, weight, 0.0)
        weight = weight / weight.sum(1, keepdim=True).clamp(min=1e-6)
    logits = queries @ keys.t() / temperature
    return -(weight * F.log_softmax(logits, dim=1)).sum(1).mean()
