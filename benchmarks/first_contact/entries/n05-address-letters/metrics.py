import torch


class BinaryReport:
    """Collects scores of one pass and sums them up at its end."""

    def __init__(self):
        self.scores, self.labels, self.losses = [], [], []

    def add(self, logits, labels, loss):
        self.scores.append(logits.detach())
        self.labels.append(labels)
        self.losses.append(loss.detach())

    def summary(self):
        scores, labels = torch.cat(self.scores), torch.cat(self.labels)
        order = scores.argsort(descending=True)
        hits = labels[order]
        found = hits.cumsum(0)
        positives = found[-1].clamp_min(1)
        precision = found / torch.arange(1, len(hits) + 1)
        average_precision = (precision * hits).sum() / positives
        negatives = len(hits) - positives
        ranks = torch.arange(len(hits), 0, -1, dtype=torch.float64)
        auc = ((ranks * hits).sum() - positives.double() * (positives + 1) / 2) / (positives.double() * negatives)
        accuracy = ((scores > 0).float() == labels).float().mean()
        return {"loss": torch.stack(self.losses).mean().item(), "accuracy": accuracy.item(),
                "auc": auc.item(), "ap": average_precision.item()}
