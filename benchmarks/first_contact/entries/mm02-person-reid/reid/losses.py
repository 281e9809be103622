import torch
import torch.nn as nn


def euclidean(x, y):
    xx = x.pow(2).sum(1, keepdim=True)
    yy = y.pow(2).sum(1, keepdim=True).t()
    return (xx + yy - 2 * x @ y.t()).clamp(min=1e-12).sqrt()


class BatchHardTriplet(nn.Module):
    def __init__(self, margin=0.3):
        super().__init__()
        self.ranking = nn.MarginRankingLoss(margin=margin)

    def forward(self, features, labels):
        n = features.size(0)
        dist = euclidean(features, features)
        mask = labels.expand(n, n).eq(labels.expand(n, n).t())
        dist_ap, dist_an = [], []
        for i in range(n):
            dist_ap.append(dist[i][mask[i]].max().unsqueeze(0))
            dist_an.append(dist[i][mask[i] == 0].min().unsqueeze(0))
        dist_ap, dist_an = torch.cat(dist_ap), torch.cat(dist_an)
        return self.ranking(dist_an, dist_ap, torch.ones_like(dist_an)), dist_ap.detach(), dist_an.detach()
