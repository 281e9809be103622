import torch


def make_anchors(size, strides=(8, 16), scales=(1.5, 2.5), ratios=(0.5, 1.0, 2.0)):
    out = []
    for stride in strides:
        c = (torch.arange(size // stride) + 0.5) * stride
        cy, cx = torch.meshgrid(c, c, indexing="ij")
        wh = torch.tensor([[s * stride * r ** 0.5, s * stride / r ** 0.5] for s in scales for r in ratios])
        centre = torch.stack([cx, cy], -1).view(-1, 1, 2).expand(-1, len(wh), 2)
        wh = wh.view(1, -1, 2).expand(len(centre), -1, 2)
        out.append(torch.cat([centre - wh / 2, centre + wh / 2], -1).reshape(-1, 4))
    return torch.cat(out)


def box_iou(a, b):
    """pairwise IoU of (..., N, 4) and (..., M, 4)"""
    area_a = (a[..., 2:] - a[..., :2]).prod(-1)
    area_b = (b[..., 2:] - b[..., :2]).prod(-1)
    lt = torch.maximum(a[..., :, None, :2], b[..., None, :, :2])
    rb = torch.minimum(a[..., :, None, 2:], b[..., None, :, 2:])
    inter = (rb - lt).clamp(min=0).prod(-1)
    return inter / (area_a[..., :, None] + area_b[..., None, :] - inter).clamp(min=1e-6)


def encode(gt, anchors):
    wh = anchors[..., 2:] - anchors[..., :2]
    centre = (anchors[..., :2] + anchors[..., 2:]) / 2
    gt_wh = (gt[..., 2:] - gt[..., :2]).clamp(min=1)
    gt_centre = (gt[..., :2] + gt[..., 2:]) / 2
    return torch.cat([(gt_centre - centre) / wh / 0.1, (gt_wh / wh).log() / 0.2], -1)


def decode(delta, anchors):
    wh = anchors[..., 2:] - anchors[..., :2]
    centre = (anchors[..., :2] + anchors[..., 2:]) / 2 + delta[..., :2] * 0.1 * wh
    wh = (delta[..., 2:] * 0.2).clamp(max=4).exp() * wh
    return torch.cat([centre - wh / 2, centre + wh / 2], -1)


def assign(anchors, targets, pos=0.5, neg=0.4):
    """targets (B, M, 5) -> class per anchor (-1 background, -2 ignored), matched row, both (B, A)"""
    valid = targets[..., 4] >= 0
    iou = box_iou(anchors.expand(len(targets), -1, -1), targets[..., :4])
    iou = iou.masked_fill(~valid[:, None, :], -1.0)
    best, row = iou.max(dim=2)
    forced = iou.argmax(dim=1)
    b, m = valid.nonzero(as_tuple=True)
    best[b, forced[b, m]] = 1.0
    row[b, forced[b, m]] = m
    label = targets[..., 4].long().gather(1, row)
    label = torch.where(best < neg, -1, torch.where(best < pos, -2, label))
    return label, row


def nms(boxes, scores, threshold):
    order = scores.argsort(descending=True)
    keep = []
    while len(order):
        first = order[0]
        keep.append(first)
        iou = box_iou(boxes[first][None], boxes[order[1:]])[0]
        order = order[1:][iou <= threshold]
    return torch.stack(keep) if keep else order


def detect(logits, deltas, anchors, score=0.2, limit=60, iou=0.5):
    """one image -> boxes, scores, classes"""
    p, c = logits.sigmoid().max(-1)
    p, idx = p.topk(limit)
    idx = idx[p > score]
    p = p[p > score]
    boxes, c = decode(deltas[idx], anchors[idx]), c[idx]
    keep = nms(boxes + c[:, None] * 1000.0, p, iou)
    return boxes[keep], p[keep], c[keep]
