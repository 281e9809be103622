"""Which lot does a germinating seed come from? Embedding with batch-hard triplets, tested on unseen lots."""
import copy
import time

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

LOTS_IN_BATCH, SEEDS_PER_LOT = 12, 5
EPOCHS, STEPS_PER_EPOCH = 16, 100
MARGIN, EMA = 0.25, 0.99


class SeedNet(nn.Module):
    def __init__(self, width=16, dim=64):
        super().__init__()
        layers, cin = [], 3
        for cout in (width, 2 * width, 4 * width):
            layers += [nn.Conv2d(cin, cout, 3, padding=1, bias=False), nn.BatchNorm2d(cout), nn.ReLU(inplace=True), nn.MaxPool2d(2)]
            cin = cout
        self.body = nn.Sequential(*layers)
        self.head = nn.Linear(cin, dim)

    def forward(self, x):
        return F.normalize(self.head(self.body(x).mean((2, 3))), dim=1)


def batch_hard(z, lots, margin=MARGIN):
    """Furthest seed of the same lot, nearest of another."""
    apart = (2 - 2 * z @ z.T).clamp_min(1e-6).sqrt()
    same = lots[:, None] == lots[None, :]
    furthest = apart.masked_fill(~same, -1.0).amax(1)
    nearest = apart.masked_fill(same, 9.0).amin(1)
    return F.relu(furthest - nearest + margin).mean()


class LotSampler:
    """P lots, K seeds of each."""

    def __init__(self, lots, generator):
        self.generator = generator
        self.members = torch.stack([torch.nonzero(lots == lot).flatten() for lot in lots.unique()])

    def draw(self):
        lots = torch.randperm(len(self.members), generator=self.generator)[:LOTS_IN_BATCH]
        seeds = torch.rand(LOTS_IN_BATCH, self.members.shape[1], generator=self.generator).argsort(1)[:, :SEEDS_PER_LOT]
        return self.members[lots[:, None], seeds].flatten()


def augment(x):
    """Flips and quarter turns for the whole batch, then light and grain."""
    if torch.rand(()) < 0.5:
        x = x.flip(3)
    x = torch.rot90(x, int(torch.randint(4, ())), (2, 3))
    light = 1 + 0.15 * torch.randn(len(x), 3, 1, 1)
    return x * light + 0.03 * torch.randn(x.shape)


@torch.no_grad()
def recall_at_1(model, x, lots):
    model.eval()
    z = torch.cat([model(part) for part in x.split(150)])
    likeness = z @ z.T
    likeness.fill_diagonal_(-2)
    return (lots[likeness.argmax(1)] == lots).float().mean().item()


@torch.no_grad()
def follow(average, model):
    slow, fast = list(average.parameters()), list(model.parameters())
    torch._foreach_lerp_(slow, fast, 1 - EMA)
    for a, b in zip(average.buffers(), model.buffers()):
        a.copy_(b)


def main():
    torch.manual_seed(3)
    raw = np.load("seeds.npz")
    x = torch.from_numpy(raw["pictures"]).permute(0, 3, 1, 2).float().div_(255).sub_(0.4)
    x = x.contiguous(memory_format=torch.channels_last)
    lots = torch.from_numpy(raw["lots"]).long()
    seen = lots < 70
    x_train, lots_train, x_test, lots_test = x[seen], lots[seen], x[~seen], lots[~seen]

    model = SeedNet().to(memory_format=torch.channels_last)
    average = copy.deepcopy(model).requires_grad_(False)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=1e-4, fused=True)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, EPOCHS * STEPS_PER_EPOCH)
    sampler = LotSampler(lots_train, torch.Generator().manual_seed(5))
    best, best_state, log = 0.0, None, []

    for epoch in range(EPOCHS):
        model.train()
        start = time.perf_counter()
        for _ in range(STEPS_PER_EPOCH):
            rows = sampler.draw()
            z = model(augment(x_train[rows]))
            loss = batch_hard(z, lots_train[rows])
            optimizer.zero_grad()
            loss.backward()
            norm = nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            optimizer.step()
            schedule.step()
            follow(average, model)
            log.append((loss.item(), norm.item()))
        recall = recall_at_1(average, x_test, lots_test)
        if recall > best:
            best, best_state = recall, copy.deepcopy(average.state_dict())
            torch.save(best_state, "seednet.pt")
        losses, norms = np.array(log[-STEPS_PER_EPOCH:]).T
        print(f"{epoch:3d}  loss {losses.mean():.4f}  gradient {norms.mean():.2f}  recall@1 {recall:.3f}  {time.perf_counter() - start:.1f} s")


if __name__ == "__main__":
    main()
