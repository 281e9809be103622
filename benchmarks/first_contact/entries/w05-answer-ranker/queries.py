"""Questions with candidate answers of graded relevance; lists are of different lengths."""
import torch


class RankingData:
    """Numeric features and two categorical ones for every candidate, padded to the longest list."""

    def __init__(self, queries, seed, candidates=40, numeric=60, sources=500, authors=3000):
        world = torch.Generator().manual_seed(17)
        taste = torch.randn(numeric, generator=world) / numeric ** 0.5
        cross = torch.randn(numeric, 8, generator=world) / numeric ** 0.5
        trust = 0.5 * torch.randn(sources, generator=world)
        skill = 0.5 * torch.randn(authors, generator=world)

        g = torch.Generator().manual_seed(seed)
        topic = torch.randn(queries, 1, numeric, generator=g)
        self.numeric = 0.5 * topic + torch.randn(queries, candidates, numeric, generator=g)
        self.source = torch.randint(sources, (queries, candidates), generator=g)
        self.author = (authors * torch.rand(queries, candidates, generator=g).square()).long()
        lengths = torch.randint(candidates // 2, candidates + 1, (queries, 1), generator=g)
        self.mask = torch.arange(candidates) < lengths
        score = self.numeric @ taste + torch.tanh(self.numeric @ cross).prod(-1) * 20
        score = score + trust[self.source] + skill[self.author] + 0.5 * torch.randn(queries, candidates, generator=g)
        self.grade = torch.bucketize(score, torch.tensor([0.5, 1.2, 1.9, 2.6])).float() * self.mask
        self.sizes = sources, authors

    def __len__(self):
        return len(self.grade)

    def rows(self, index):
        return self.numeric[index], self.source[index], self.author[index], self.mask[index], self.grade[index]

    def batches(self, size, shuffle):
        order = torch.randperm(len(self)) if shuffle else torch.arange(len(self))
        for index in order.split(size):
            yield self.rows(index)
