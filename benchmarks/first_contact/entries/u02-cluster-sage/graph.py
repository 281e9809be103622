"""A citation-like graph with communities, and its partition into clusters."""
import torch


def sample_edges(community, count, inside, generator):
    """Directed edges; a share `inside` of them stays within one community."""
    nodes = len(community)
    order = torch.argsort(community, stable=True)
    sizes = torch.bincount(community)
    first = sizes.cumsum(0) - sizes
    source = torch.randint(0, nodes, (count,), generator=generator)
    home = community[source]
    offset = (torch.rand(count, generator=generator) * sizes[home]).long()
    target = order[first[home] + offset]
    stray = torch.rand(count, generator=generator) > inside
    target[stray] = torch.randint(0, nodes, (int(stray.sum()),), generator=generator)
    return source, target


class PaperGraph:
    def __init__(self, nodes=60_000, degree=12, communities=240, classes=24, features=64, seed=0):
        g = torch.Generator().manual_seed(seed)
        community = torch.randint(0, communities, (nodes,), generator=g)
        topic = torch.randint(0, classes, (communities,), generator=g)
        self.y = topic[community]
        noisy = torch.rand(nodes, generator=g) < 0.1
        self.y[noisy] = torch.randint(0, classes, (int(noisy.sum()),), generator=g)
        source, target = sample_edges(community, nodes * degree, 0.75, g)
        both = torch.cat([source * nodes + target, target * nodes + source])
        both = torch.unique(both)
        self.edge_index = torch.stack([both // nodes, both % nodes])
        centre = torch.randn(classes, features, generator=g)
        scale = torch.rand(features, generator=g) * 5 + 0.2
        self.counts = (centre[self.y] * 0.5 + torch.randn(nodes, features, generator=g)) * scale + 3.0
        draw = torch.rand(nodes, generator=g)
        self.train_mask = draw < 0.7
        self.val_mask = draw >= 0.9
        self.community = community

    @property
    def num_nodes(self):
        return len(self.y)

    @property
    def x(self):
        """Standardised word counts."""
        mean = self.counts.mean(dim=0)
        std = self.counts.std(dim=0)
        return (self.counts - mean) / std


def partition(graph, parts, generator):
    """Whole communities are dealt to clusters, as METIS would roughly do."""
    communities = int(graph.community.max()) + 1
    dealt = torch.randperm(communities, generator=generator) % parts
    return dealt[graph.community]
