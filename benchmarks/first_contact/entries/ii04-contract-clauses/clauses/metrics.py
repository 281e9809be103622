import torch


def f1_scores(logits, labels, threshold=0.0):
    predicted = logits > threshold
    labels = labels.bool()
    tp = (predicted & labels).sum(0).float()
    fp = (predicted & ~labels).sum(0).float()
    fn = (~predicted & labels).sum(0).float()
    micro = 2 * tp.sum() / (2 * tp.sum() + fp.sum() + fn.sum()).clamp(min=1)
    macro = (2 * tp / (2 * tp + fp + fn).clamp(min=1)).mean()
    return micro.item(), macro.item()


def best_threshold(logits, labels):
    grid = torch.linspace(-4, 2, 25)
    scores = [f1_scores(logits, labels, t)[0] for t in grid]
    k = max(range(len(grid)), key=scores.__getitem__)
    return grid[k].item(), scores[k]
