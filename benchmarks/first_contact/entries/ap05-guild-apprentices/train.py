import torch
from torch import nn
from torch.nn import functional as F

from registers import RELATIONS, registers, spell

torch.manual_seed(1563)

PEOPLE, ENTRIES, HELD = 640, 26000, 1000
DIM, LAYERS, BASES = 32, 2, 4
EPOCHS, BATCH, FALSE_TAILS, MESSAGES = 16, 512, 8, 1200
LEARNING_RATE, WEIGHT_DECAY = 3e-3, 1e-5


class NameEncoder(nn.Module):
    def __init__(self, letters, dim):
        super().__init__()
        self.letters = nn.Embedding(letters, 24, padding_idx=0)
        self.wide = nn.Conv1d(24, 48, 5, padding=2)
        self.narrow = nn.Conv1d(48, 48, 3, padding=1)
        self.out = nn.Linear(48, dim)

    def forward(self, table):
        x = F.relu(self.wide(self.letters(table).transpose(1, 2)))
        x = F.relu(self.narrow(x)).amax(2)
        return self.out(x)


class RelationalLayer(nn.Module):
    """Schlichtkrull et al., 2018, with bases; messages are averaged over a person's entries."""

    def __init__(self, dim, relations, bases):
        super().__init__()
        self.bases = nn.Parameter(torch.randn(bases, dim, dim) / dim ** 0.5)
        self.mixture = nn.Parameter(torch.randn(relations, bases) / bases ** 0.5)
        self.own = nn.Linear(dim, dim)

    def forward(self, x, source, relation, sink):
        weight = torch.einsum("rb,bij->rij", self.mixture, self.bases)
        message = torch.bmm(x[source].unsqueeze(1), weight[relation]).squeeze(1)
        received = torch.zeros_like(x).index_add(0, sink, message)
        count = torch.bincount(sink, minlength=x.size(0)).clamp_min(1).unsqueeze(1)
        return self.own(x) + received / count


class GuildModel(nn.Module):
    def __init__(self, people, letters):
        super().__init__()
        self.names = NameEncoder(letters, DIM)
        self.person = nn.Embedding(people, DIM)
        self.layers = nn.ModuleList(RelationalLayer(DIM, 2 * len(RELATIONS), BASES) for _ in range(LAYERS))
        self.relation = nn.Parameter(torch.randn(len(RELATIONS), DIM) / DIM ** 0.5)

    def forward(self, table, source, relation, sink):
        x = self.names(table) + self.person.weight
        for layer in self.layers:
            x = x + F.relu(layer(x, source, relation, sink))
        return x

    def score(self, x, heads, relation, tails):
        return ((x[heads] * self.relation[relation]).unsqueeze(1) * x[tails]).sum(2)


def roc_auc(scores, truth):
    order = scores.argsort()
    rank = torch.empty_like(scores).scatter_(0, order, torch.arange(1.0, len(scores) + 1))
    positive = truth.sum()
    return (rank[truth.bool()].sum() - positive * (positive + 1) / 2) / (positive * (len(truth) - positive))


def both_ways(triples):
    head, relation, tail = triples.unbind(1)
    return torch.cat([head, tail]), torch.cat([relation, relation + len(RELATIONS)]), torch.cat([tail, head])


@torch.no_grad()
def hits_at_ten(model, table, known, held):
    model.eval()
    x = model(table, *both_ways(known[torch.randperm(len(known))[:MESSAGES]]))
    head, relation, tail = held.unbind(1)
    scores = (x[head] * model.relation[relation]) @ x.T
    place = (scores > scores.gather(1, tail.unsqueeze(1))).sum(1)
    model.train()
    return (place < 10).float().mean().item()


names, triples = registers(PEOPLE, ENTRIES, seed=7)
table, letters = spell(names)
triples = triples[torch.randperm(len(triples))]
held, known = triples[:HELD], triples[HELD:]
model = GuildModel(PEOPLE, letters)
optimizer = torch.optim.Adam(model.parameters(), lr=LEARNING_RATE, weight_decay=WEIGHT_DECAY, fused=True)
print(f"{len(known)} entries, {sum(p.numel() for p in model.parameters())} weights", flush=True)

for epoch in range(EPOCHS):
    order = torch.randperm(len(known))
    scores_so_far, truth_so_far, total = [], [], 0.0
    batches = order[:len(order) // BATCH * BATCH].view(-1, BATCH)
    for number, rows in enumerate(batches):
        seen = known[order[torch.randint(len(order), (MESSAGES,))]]
        x = model(table, *both_ways(seen))
        head, relation, tail = known[rows].unbind(1)
        tails = torch.cat([tail.unsqueeze(1), torch.randint(PEOPLE, (BATCH, FALSE_TAILS))], 1)
        scores = model.score(x, head, relation, tails)
        truth = torch.zeros_like(scores)
        truth[:, 0] = 1.0
        loss = F.binary_cross_entropy_with_logits(scores, truth)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

        total += loss.item()
        scores_so_far.append(scores.detach().flatten())
        truth_so_far.append(truth.flatten())
        auc = roc_auc(torch.cat(scores_so_far), torch.cat(truth_so_far)).item()
        if number % 10 == 9:
            print(f"\repoch {epoch:2d} [{number + 1:3d}/{len(batches)}]  loss {total / (number + 1):.4f}  auc {auc:.4f}", end="", flush=True)
    print(f"  hits@10 {hits_at_ten(model, table, known, held):.3f}", flush=True)

torch.save(model.state_dict(), "guilds.pt")
