"""Tell two groups of subjects apart by the connectivity of their brain parcels (graph convolutions)."""
import json
import time

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

DATA = "parcels.npz"
LOG_FILE = "run.jsonl"
HIDDEN = 192
LAYERS = 3
DENSITY = 0.2
BATCH = 32
CROPS = 4
WINDOW = 60
EPOCHS = 26
LR = 5e-4
WEIGHT_DECAY = 1e-4
VAL_SHARE = 0.2


def connectivity(signals):
    """Correlations between parcels, and the graph of the strongest of them."""
    profile = np.corrcoef(signals)
    np.fill_diagonal(profile, 0.0)
    strong = np.abs(profile) >= np.quantile(np.abs(profile), 1.0 - DENSITY)
    return profile, np.where(strong, np.abs(profile), 0.0)


def build(signals, group):
    profiles, graphs, labels = [], [], []
    starts = np.linspace(0, signals.shape[2] - WINDOW, CROPS).astype(int)
    for subject, label in zip(signals, group):
        for a in starts:
            profile, graph = connectivity(subject[:, a:a + WINDOW])
            profiles.append(profile)
            graphs.append(graph)
            labels.append(label)
    return torch.tensor(np.array(profiles)), torch.tensor(np.array(graphs)), torch.tensor(np.array(labels))


def load():
    data = np.load(DATA)
    cut = int(len(data["group"]) * (1 - VAL_SHARE))
    train = build(data["signals"][:cut], data["group"][:cut])
    val = build(data["signals"][cut:], data["group"][cut:])
    return train, val


class GraphConv(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.linear = nn.Linear(inputs, outputs)

    def forward(self, x, adjacency):
        eye = torch.eye(adjacency.size(1), dtype=adjacency.dtype).expand_as(adjacency)
        a = adjacency + eye
        d = torch.diag_embed(a.sum(dim=2).pow(-0.5))
        return torch.bmm(torch.bmm(torch.bmm(d, a), d), self.linear(x))


class ParcelNet(nn.Module):
    def __init__(self, parcels):
        super().__init__()
        widths = [parcels] + [HIDDEN] * LAYERS
        self.convs = nn.ModuleList(GraphConv(i, o) for i, o in zip(widths, widths[1:]))
        self.norms = nn.ModuleList(nn.LayerNorm(HIDDEN) for _ in range(LAYERS))
        self.classify = nn.Sequential(nn.Linear(2 * HIDDEN, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, 2))

    def forward(self, profile, graph):
        h = profile
        for conv, norm in zip(self.convs, self.norms):
            h = F.relu(norm(conv(h, graph)))
        return self.classify(torch.cat([h.mean(dim=1), h.amax(dim=1)], dim=1))


class RunLog:
    def __init__(self, path):
        self.file = open(path, "w")

    def write(self, **values):
        self.file.write(json.dumps(values) + "\n")
        self.file.flush()

    def parameters(self, step, model):
        for name, p in model.named_parameters():
            for kind, tensor in (("weight", p), ("grad", p.grad)):
                values = tensor.detach().numpy().ravel()
                counts, edges = np.histogram(values, bins=64)
                self.write(step=step, name=name, kind=kind, mean=values.mean().item(), std=values.std().item(),
                           counts=counts.tolist(), low=edges[0].item(), high=edges[-1].item())


@torch.no_grad()
def validate(model, profiles, graphs, labels):
    model.eval()
    logits = torch.cat([model(p, g) for p, g in zip(profiles.split(64), graphs.split(64))])
    model.train()
    subjects = logits.softmax(dim=1).view(-1, CROPS, 2).mean(dim=1).argmax(dim=1)
    loss = F.cross_entropy(logits, labels)
    return loss.item(), (subjects == labels[::CROPS]).double().mean().item()


def main():
    torch.manual_seed(0)
    train, val = load()
    profiles, graphs, labels = train
    model = ParcelNet(profiles.size(1)).double()
    optimizer = torch.optim.AdamW(model.parameters(), lr=LR, weight_decay=WEIGHT_DECAY)
    log = RunLog(LOG_FILE)
    print(f"{len(labels)} graphs to learn from, {len(val[2])} to validate")

    step = 0
    for epoch in range(EPOCHS):
        start, losses = time.time(), []
        for index in torch.randperm(len(labels)).split(BATCH):
            logits = model(profiles[index], graphs[index])
            loss = F.cross_entropy(logits, labels[index])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
            losses.append(loss.item())
            log.write(step=step, loss=losses[-1])
            log.parameters(step, model)
        val_loss, accuracy = validate(model, *val)
        log.write(epoch=epoch, val_loss=val_loss, accuracy=accuracy)
        print(f"epoch {epoch:3d} train {np.mean(losses):.4f} val {val_loss:.4f} subjects right {accuracy:.3f} "
              f"{time.time() - start:.1f}s", flush=True)
    torch.save(model.state_dict(), "parcelnet.pt")


if __name__ == "__main__":
    main()
