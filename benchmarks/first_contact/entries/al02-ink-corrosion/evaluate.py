import torch


def f_curve(prob, mask, levels=255, beta2=0.3):
    """Precision and recall of one tile at every level of the map."""
    precision, recall = torch.zeros(levels), torch.zeros(levels)
    thresholds = torch.linspace(0, 1 - 1e-6, levels)
    for i in range(levels):
        found = (prob >= thresholds[i]).float()
        hits = (found * mask).sum()
        precision[i] = hits / (found.sum() + 1e-8)
        recall[i] = hits / (mask.sum() + 1e-8)
    return (1 + beta2) * precision * recall / (beta2 * precision + recall + 1e-8)


@torch.no_grad()
def evaluate(model, images, masks, batch=25):
    model.eval()
    prob = torch.cat([torch.sigmoid(model(part)[0]) for part in images.split(batch)])
    curves = torch.stack([f_curve(p, m) for p, m in zip(prob, masks) if m.any()])
    found = prob > 0.5
    truth = masks > 0.5
    iou = (found & truth).sum() / (found | truth).sum().clamp(min=1)
    model.train()
    return {
        "mae": (prob - masks).abs().mean().item(),
        "iou": iou.item(),
        "max_f": curves.mean(0).max().item(),
        "mean_f": curves.mean().item(),
    }
