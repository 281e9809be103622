import torch


def pair_iou(a, b):
    corner = torch.max(a[:, None, :2], b[None, :, :2])
    other = torch.min(a[:, None, 2:], b[None, :, 2:])
    inter = (other - corner).clamp(min=0).prod(-1)
    area = lambda boxes: (boxes[:, 2:] - boxes[:, :2]).prod(-1)
    return inter / (area(a)[:, None] + area(b)[None] - inter + 1e-9)


def suppress(boxes, scores, limit=0.45, most=60):
    """Greedy non-maximum suppression; the indices kept, best first."""
    order = scores.argsort(descending=True)[:most]
    overlap = (pair_iou(boxes[order], boxes[order]) > limit).numpy()
    kept = []
    for rank in range(len(order)):
        if not overlap[rank, kept].any():
            kept.append(rank)
    return order[kept]


@torch.no_grad()
def average_precision(model, loader, threshold=0.1, match=0.5):
    """Area under the precision-recall curve, kinds taken together."""
    model.eval()
    scores, correct, truths = [], [], 0
    for pictures, targets in loader:
        boxes, confidence, _ = model.decode(model(pictures))
        for number in range(len(pictures)):
            rows = targets[targets[:, 0] == number]
            truth = torch.cat([rows[:, 2:4] - rows[:, 4:] / 2, rows[:, 2:4] + rows[:, 4:] / 2], 1)
            truths += len(truth)
            sure = confidence[number] > threshold
            found, score = boxes[number][sure], confidence[number][sure]
            kept = suppress(found, score)
            iou = pair_iou(found[kept], truth)
            taken = set()
            for rank, index in enumerate(kept.tolist()):
                best, which = iou[rank].max(0) if len(truth) else (torch.tensor(0.0), torch.tensor(-1))
                good = best.item() > match and which.item() not in taken
                if good:
                    taken.add(which.item())
                scores.append(score[index].item())
                correct.append(float(good))
    if not scores:
        return 0.0
    order = torch.tensor(scores).argsort(descending=True)
    hits = torch.tensor(correct)[order].cumsum(0)
    precision = hits / torch.arange(1, len(hits) + 1)
    recall = hits / max(1, truths)
    steps = torch.diff(recall, prepend=torch.zeros(1))
    return (precision * steps).sum().item()
