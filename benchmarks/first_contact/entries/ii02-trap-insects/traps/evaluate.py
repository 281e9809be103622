import torch

from .boxes import decode, iou, nms


def average_precision(hits, n_truth):
    if n_truth == 0 or not hits:
        return 0.0
    hits = torch.tensor([h for _, h in sorted(hits, key=lambda p: -p[0])], dtype=torch.float32)
    tp = hits.cumsum(0)
    recall = tp / n_truth
    precision = (tp / torch.arange(1, len(hits) + 1)).flip(0).cummax(0).values.flip(0)
    return float((precision * torch.diff(recall, prepend=torch.zeros(1))).sum())


@torch.no_grad()
def mean_average_precision(model, loader, anchors, n_species, min_score=0.3, top=100):
    model.eval()
    hits = [[] for _ in range(n_species)]
    truth = [0] * n_species
    for images, boxes, labels in loader:
        logits, deltas = model(images)
        scores = logits.softmax(-1)
        found = decode(deltas, anchors)
        for b in range(len(images)):
            for k in range(n_species):
                wanted = boxes[b][labels[b] == k]
                truth[k] += len(wanted)
                s = scores[b, :, k + 1]
                index = (s > min_score).nonzero().squeeze(1)
                index = index[s[index].argsort(descending=True)[:top]]
                if len(index) == 0:
                    continue
                index = index[nms(found[b, index], s[index], 0.45)]
                used = torch.zeros(len(wanted), dtype=torch.bool)
                for i in index:
                    hit = False
                    if len(wanted):
                        overlap = iou(found[b, i], wanted)
                        overlap[used] = 0
                        best = overlap.argmax()
                        if overlap[best] > 0.5:
                            used[best] = hit = True
                    hits[k].append((s[i].item(), hit))
    return sum(average_precision(h, n) for h, n in zip(hits, truth)) / n_species
