import torch
import torch.nn.functional as F
from torch import nn


def shape_iou(w, h, anchors):
    """IoU of a box with the anchors, all centred on the same point."""
    inter = torch.min(w, anchors[:, 0]) * torch.min(h, anchors[:, 1])
    union = w * h + anchors[:, 0] * anchors[:, 1] - inter
    return inter / union


class DetectionLoss(nn.Module):
    def __init__(self, anchors, kinds, ignore=0.6, box_weight=5.0, kind_weight=1.0):
        super().__init__()
        self.register_buffer("anchors", anchors)
        self.kinds = kinds
        self.ignore = ignore
        self.box_weight = box_weight
        self.kind_weight = kind_weight

    def build_targets(self, targets, n, rows, columns):
        count = len(self.anchors)
        has_object = torch.zeros(n, count, rows, columns, dtype=torch.bool)
        no_object = torch.ones(n, count, rows, columns, dtype=torch.bool)
        boxes = torch.zeros(n, count, rows, columns, 4)
        kinds = torch.zeros(n, count, rows, columns, dtype=torch.long)
        for target in targets:
            picture, kind = int(target[0]), int(target[1])
            cx, cy, w, h = target[2:]
            column = min(int(cx * columns), columns - 1)
            row = min(int(cy * rows), rows - 1)
            ious = shape_iou(w, h, self.anchors)
            best = int(ious.argmax())
            no_object[picture, ious > self.ignore, row, column] = False
            no_object[picture, best, row, column] = False
            has_object[picture, best, row, column] = True
            boxes[picture, best, row, column, 0] = cx * columns - column
            boxes[picture, best, row, column, 1] = cy * rows - row
            boxes[picture, best, row, column, 2] = torch.log(w / self.anchors[best, 0])
            boxes[picture, best, row, column, 3] = torch.log(h / self.anchors[best, 1])
            kinds[picture, best, row, column] = kind
        return has_object, no_object, boxes, kinds

    def forward(self, out, targets):
        n, _, rows, columns, _ = out.shape
        has_object, no_object, boxes, kinds = self.build_targets(targets, n, rows, columns)
        hit, wanted = out[has_object], boxes[has_object]
        centre = F.binary_cross_entropy_with_logits(hit[:, :2], wanted[:, :2])
        size = F.smooth_l1_loss(hit[:, 2:4], wanted[:, 2:])
        kind = F.cross_entropy(hit[:, 5:], kinds[has_object])
        present = F.binary_cross_entropy_with_logits(hit[:, 4], torch.ones_like(hit[:, 4]))
        absent_logits = out[..., 4][no_object]
        absent = F.binary_cross_entropy_with_logits(absent_logits, torch.zeros_like(absent_logits))
        total = self.box_weight * (centre + size) + self.kind_weight * kind + present + 2 * absent
        return total, {"centre": centre, "size": size, "kind": kind, "present": present, "absent": absent}
