import torch
from torch import nn
from torch.nn import functional as F

from inclusions import KindBatches, pieces

config = dict(
    size=32, kinds=60, each=24, held_each=16, batch_kinds=32, batch_each=4, batches=40, epochs=20,
    width=24, dim=64, margin=0.2, lr=2e-3, weight_decay=1e-3, queries=32,
)


class Residual(nn.Module):
    def __init__(self, inside, outside, stride):
        super().__init__()
        self.first = nn.Conv2d(inside, outside, 3, stride, 1, bias=False)
        self.second = nn.Conv2d(outside, outside, 3, 1, 1, bias=False)
        self.norms = nn.ModuleList([nn.BatchNorm2d(outside), nn.BatchNorm2d(outside)])
        self.skip = nn.Conv2d(inside, outside, 1, stride)

    def forward(self, x):
        y = F.relu(self.norms[0](self.first(x)))
        return F.relu(self.norms[1](self.second(y)) + self.skip(x))


class Embedder(nn.Module):
    def __init__(self, width, dim):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(3, width, 4, 4), nn.BatchNorm2d(width), nn.ReLU(),
            Residual(width, 2 * width, 2), Residual(2 * width, 3 * width, 1))
        self.head = nn.Linear(3 * width, dim)

    def forward(self, pictures):
        return F.normalize(self.head(self.body(pictures).mean((2, 3))), dim=1)


def batch_all_triplets(z, labels, margin):
    """Every valid triplet of the batch, averaged over those that still violate the margin."""
    distance = (2 - 2 * z @ z.T).clamp_min(1e-6).sqrt()
    same = labels.unsqueeze(0) == labels.unsqueeze(1)
    other = ~torch.eye(len(labels), dtype=torch.bool)
    positive, negative = same & other, ~same
    violation = distance.unsqueeze(2) - distance.unsqueeze(1) + margin
    valid = positive.unsqueeze(2) & negative.unsqueeze(1)
    violation = F.relu(violation * valid)
    active = (violation > 1e-12).sum()
    return violation.sum() / active.clamp_min(1), active / valid.sum()


def augment(pictures):
    if torch.rand(()) < 0.5:
        pictures = pictures.flip(3)
    pictures = torch.rot90(pictures, int(torch.randint(4, ())), (2, 3))
    gain = 0.85 + 0.3 * torch.rand(len(pictures), 3, 1, 1)
    return (pictures * gain).contiguous(memory_format=torch.channels_last)


@torch.no_grad()
def recall_at_one(model, gallery, gallery_labels, queries, query_labels, size):
    model.eval()
    hits = 0
    for rows in torch.arange(len(queries)).split(size):
        z = model(queries[rows])
        bank = torch.cat([model(part) for part in gallery.split(256)])
        nearest = (z @ bank.T).argmax(1)
        hits += (gallery_labels[nearest] == query_labels[rows]).sum().item()
    model.train()
    return hits / len(queries)


def main(c):
    torch.manual_seed(5)
    pictures, labels = pieces(c["kinds"], c["each"], c["size"], 1)
    held, held_labels = pieces(c["kinds"], c["held_each"], c["size"], 2)
    held = held.contiguous(memory_format=torch.channels_last)
    gallery, queries = slice(0, None, 2), slice(1, None, 2)
    model = Embedder(c["width"], c["dim"]).to(memory_format=torch.channels_last)
    optimizer = torch.optim.AdamW(model.parameters(), lr=c["lr"], weight_decay=c["weight_decay"], fused=True)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, c["epochs"])
    batches = KindBatches(labels, c["batch_kinds"], c["batch_each"], c["batches"])
    best = 0.0
    for epoch in range(c["epochs"]):
        losses, shares = [], []
        for rows in batches:
            z = model(augment(pictures[rows]))
            loss, share = batch_all_triplets(z, labels[rows], c["margin"])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.detach())
            shares.append(share)
        scheduler.step()
        recall = recall_at_one(
            model, held[gallery], held_labels[gallery], held[queries], held_labels[queries], c["queries"])
        print(f"epoch {epoch:2d}  loss {torch.stack(losses).mean():.4f}  active {torch.stack(shares).mean():.3f}  "
              f"recall@1 {recall:.3f}", flush=True)
        if recall > best:
            best = recall
            torch.save({"model": model.state_dict(), "config": c, "epoch": epoch}, "amber.pt")


main(config)
