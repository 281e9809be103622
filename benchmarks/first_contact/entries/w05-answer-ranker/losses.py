import torch
import torch.nn.functional as F


def discounts(length):
    return 1 / torch.log2(torch.arange(length) + 2.0)


def ndcg(scores, grade, k=10):
    """Mean NDCG@k; candidates that are padding have grade 0 and come last."""
    gain = torch.exp2(grade) - 1
    weight = discounts(k)
    found = (gain.gather(1, scores.topk(k, 1).indices) * weight).sum(1)
    best = (gain.topk(k, 1).values * weight).sum(1)
    return (found / best.clamp_min(1e-6))[best > 0].mean()


def lambda_loss(scores, grade, mask):
    """Pairwise logistic loss, each pair weighted by the NDCG it would change (LambdaLoss)."""
    gain = torch.exp2(grade) - 1
    with torch.no_grad():
        place = scores.argsort(1, descending=True).argsort(1)
        discount = discounts(scores.shape[1])
        ideal = (gain.sort(1, descending=True).values * discount).sum(1).clamp_min(1e-6)
        above = (grade.unsqueeze(2) > grade.unsqueeze(1)) & mask.unsqueeze(1)
        reach = discount[place]
        delta = (gain.unsqueeze(2) - gain.unsqueeze(1)).abs_() * (reach.unsqueeze(2) - reach.unsqueeze(1)).abs_()
        weight = torch.where(above, delta / ideal.view(-1, 1, 1), 0)
    margin = scores.unsqueeze(2) - scores.unsqueeze(1)
    return (weight * F.softplus(-margin)).sum() / len(scores)


def listwise_loss(scores, grade):
    target = torch.softmax(grade.masked_fill(scores < -9e3, -1e4), 1)
    return -(target * torch.log_softmax(scores, 1)).sum(1).mean()
