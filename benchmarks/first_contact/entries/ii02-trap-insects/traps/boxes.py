import math

import torch


def make_anchors(size, strides=(8, 16), scales=((10, 14, 20), (16, 24, 32)), ratio=1.0):
    anchors = []
    for stride, lengths in zip(strides, scales):
        n = size // stride
        centre = (torch.arange(n) + 0.5) * stride
        cy, cx = torch.meshgrid(centre, centre, indexing="ij")
        for_each = []
        for length in lengths:
            w, h = length * math.sqrt(ratio), length / math.sqrt(ratio)
            for_each.append(torch.stack([cx - w / 2, cy - h / 2, cx + w / 2, cy + h / 2], -1))
        anchors.append(torch.stack(for_each, 2).view(-1, 4))
    return torch.cat(anchors)


def iou(box, boxes):
    """Overlap of one box with many."""
    x1 = torch.max(box[0], boxes[:, 0])
    y1 = torch.max(box[1], boxes[:, 1])
    x2 = torch.min(box[2], boxes[:, 2])
    y2 = torch.min(box[3], boxes[:, 3])
    inter = (x2 - x1).clamp(min=0) * (y2 - y1).clamp(min=0)
    area = (box[2] - box[0]) * (box[3] - box[1])
    areas = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
    return inter / (area + areas - inter)


def encode(boxes, anchors):
    wh = anchors[:, 2:] - anchors[:, :2]
    centre = (anchors[:, 2:] + anchors[:, :2]) / 2
    bwh = boxes[:, 2:] - boxes[:, :2]
    return torch.cat([((boxes[:, 2:] + boxes[:, :2]) / 2 - centre) / wh / 0.1, (bwh / wh).log() / 0.2], 1)


def decode(deltas, anchors):
    wh = anchors[:, 2:] - anchors[:, :2]
    centre = (anchors[:, 2:] + anchors[:, :2]) / 2 + deltas[..., :2] * 0.1 * wh
    half = (deltas[..., 2:] * 0.2).clamp(max=4).exp() * wh / 2
    return torch.cat([centre - half, centre + half], -1)


def assign(boxes, labels, anchors, positive=0.5, negative=0.4):
    """Class of every anchor (0 background, -1 not used) and the box it has to find."""
    best = torch.zeros(len(anchors))
    owner = torch.zeros(len(anchors), dtype=torch.long)
    forced = []
    for k in range(len(boxes)):
        overlap = iou(boxes[k], anchors)
        better = overlap > best
        best[better] = overlap[better]
        owner[better] = k
        forced.append(overlap.argmax())
    for k, a in enumerate(forced):
        best[a] = 1.0
        owner[a] = k
    target = labels[owner] + 1
    target[best < positive] = -1
    target[best < negative] = 0
    return target, encode(boxes[owner], anchors)


def nms(boxes, scores, threshold):
    keep = []
    order = scores.argsort(descending=True)
    while len(order):
        first = order[0]
        keep.append(first.item())
        if len(order) == 1:
            break
        order = order[1:]
        order = order[iou(boxes[first], boxes[order]) <= threshold]
    return keep
