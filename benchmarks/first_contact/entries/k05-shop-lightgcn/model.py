import torch
import torch.nn as nn
import torch.nn.functional as F


class LightGCN(nn.Module):
    def __init__(self, n_users, n_items, adj, dim=32, layers=2):
        super().__init__()
        self.n_users, self.n_items, self.layers = n_users, n_items, layers
        self.embed = nn.Embedding(n_users + n_items, dim)
        nn.init.normal_(self.embed.weight, std=0.1)
        self.adj = adj

    def propagate(self):
        x = self.embed.weight
        total = x
        for _ in range(self.layers):
            x = self.adj @ x
            total = total + x
        total = total / (self.layers + 1)
        return total[:self.n_users], total[self.n_users:]

    def user_embedding(self, users):
        return self.propagate()[0][users]

    def item_embedding(self, items):
        return self.propagate()[1][items]

    def score(self, users, items):
        u, i = self.user_embedding(users), self.item_embedding(items)
        if items.dim() == 2:
            u = u.unsqueeze(1)
        return (u * i).sum(-1)

    def bpr_loss(self, users, pos, neg, reg):
        margin = self.score(users, pos).unsqueeze(1) - self.score(users, neg)
        rows = torch.cat([users, pos + self.n_users, neg.flatten() + self.n_users])
        penalty = self.embed(rows).pow(2).sum() / len(users)
        return F.softplus(-margin).mean() + reg * penalty
