import json
import time

import torch
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset, random_split

from snowpack import GRAINS, ProfileModel

config = {
    "seed": 23,
    "profiles": 2600,
    "deepest": 28,
    "epochs": 18,
    "batch_size": 32,
    "learning_rate": 6e-4,
    "model": {"width": 80, "depth": 3, "heads": 4, "dropout": 0.1, "checkpointing": True},
}


def field_book(count, deepest, generator):
    """Grain type, thickness, hand hardness, grain size, temperature and density of each layer, from a
    random winter: what lies on facets or buried surface hoar fails first."""
    number = torch.randint(12, deepest + 1, (count,), generator=generator)
    grain = torch.randint(0, GRAINS, (count, deepest), generator=generator)
    thickness = torch.rand(count, deepest, generator=generator) * 0.3 + 0.01
    hardness = torch.rand(count, deepest, generator=generator).cumsum(1) / deepest * 5
    size = torch.rand(count, deepest, generator=generator) * 2 + 0.3
    cold = -torch.rand(count, 1, generator=generator) * 15 * torch.linspace(1, 0, deepest)
    density = 80 + 60 * hardness + 20 * torch.randn(count, deepest, generator=generator)
    weak = torch.tensor([0.2, 0.1, 0, 1.2, 1.5, 2.0, 0.1, -1.0, -1.0])[grain] + 0.5 * size - 0.7 * hardness
    inside = torch.arange(deepest) < number[:, None]
    weak = weak.masked_fill(~inside, -1e4)
    worst = weak.argmax(1)
    danger = torch.bucketize(weak.amax(1) + 0.2 * torch.randn(count, generator=generator), torch.tensor([1.2, 1.9, 2.3, 2.7]))
    measures = torch.stack([thickness * 5, hardness, size, cold / 5, density / 200], 2) * inside[:, :, None]
    return grain.masked_fill(~inside, GRAINS), measures, danger, worst


def step_loss(model, batch):
    grain, measures, danger, worst = batch
    level, where = model(grain, measures)
    return F.cross_entropy(level, danger) + 0.5 * F.cross_entropy(where, worst), level


@torch.no_grad()
def check(model, loader):
    model.eval()
    hits = [(step_loss(model, batch)[1].argmax(1) == batch[2]).float().mean() for batch in loader]
    model.train()
    return torch.stack(hits).mean().item()


torch.manual_seed(config["seed"])
generator = torch.Generator().manual_seed(config["seed"])
book = TensorDataset(*field_book(config["profiles"], config["deepest"], generator))
train_set, check_set = random_split(book, [0.9, 0.1], generator=generator)
train_loader = DataLoader(train_set, config["batch_size"], shuffle=True, drop_last=True)
check_loader = DataLoader(check_set, 128)

model = ProfileModel(**config["model"])
optimizer = torch.optim.AdamW(model.parameters(), lr=config["learning_rate"], betas=(0.9, 0.98))
scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.05, config["epochs"] * len(train_loader))
history = []
for epoch in range(config["epochs"]):
    started = time.monotonic()
    losses = []
    for batch in train_loader:
        optimizer.zero_grad()
        loss, _ = step_loss(model, batch)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        losses.append(loss.detach())
    history.append({
        "epoch": epoch,
        "loss": torch.stack(losses).mean().item(),
        "right": check(model, check_loader),
        "seconds": round(time.monotonic() - started, 2),
    })
    print(history[-1], flush=True)

torch.save(model.state_dict(), "snowpack.pt")
with open("history.json", "w") as out:
    json.dump({"config": config, "history": history}, out, indent=1)
