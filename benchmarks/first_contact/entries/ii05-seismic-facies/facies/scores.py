import torch


class Confusion:
    def __init__(self, n):
        self.n = n
        self.table = torch.zeros(n, n, dtype=torch.long)

    def update(self, predicted, truth):
        self.table += torch.bincount((truth * self.n + predicted).flatten(), minlength=self.n ** 2).view(self.n, self.n)

    def summary(self):
        t = self.table.double()
        hit = t.diag()
        iou = hit / (t.sum(0) + t.sum(1) - hit).clamp(min=1)
        return {"pixel_acc": (hit.sum() / t.sum()).item(), "mean_class_acc": (hit / t.sum(1).clamp(min=1)).mean().item(), "mean_iou": iou.mean().item(),
                "fw_iou": (t.sum(1) / t.sum() * iou).sum().item()}
