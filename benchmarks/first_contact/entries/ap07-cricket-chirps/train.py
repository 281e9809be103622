"""Embeddings of field cricket chirps without labels (VICReg), for sorting a night's recordings later."""
import copy
import time

import torch
import torch.nn as nn
import torch.nn.functional as F


class Settings:
    chirps = 12000
    length = 160
    batch = 256
    width = 384
    projection = 128
    invariance, variance, covariance = 25.0, 25.0, 1.0
    steps = 1100
    lr = 6e-4
    report = 50
    spike = 4.0
    seed = 77


def make_chirps(number, length, generator):
    """Envelopes of chirps: three to six syllables, each swelling and ending at once, with the pace and
    the weight of the syllables given by the animal and the warmth of the night."""
    time_axis = torch.linspace(0, 1, length)
    syllables = torch.randint(3, 7, (number, 1), generator=generator)
    animal = torch.randint(0, 40, (number,), generator=generator)
    traits = torch.rand(40, 4, generator=generator)[animal]
    pace = (0.10 + 0.05 * traits[:, :1]) * (1 + 0.1 * torch.randn(number, 1, generator=generator))
    chirps = torch.zeros(number, length)
    for syllable in range(6):
        start = 0.05 + syllable * pace
        local = (time_axis - start) / (0.6 * pace)
        shape = local.clamp(0, 1) ** (0.5 + 2 * traits[:, 1:2]) * ((local > 0) & (local < 1))
        loud = 0.4 + 0.6 * torch.sigmoid(3 * (traits[:, 2:3] - 0.5) + syllable * (traits[:, 3:] - 0.3))
        chirps += shape * loud * (syllable < syllables)
    return chirps, animal


def view(chirps):
    """Another hearing of the same chirps: nearer or farther, a little earlier or later, with wind."""
    rows, length = chirps.shape
    gain = 0.6 + 0.8 * torch.rand(rows, 1)
    shift = torch.randint(-8, 9, (rows, 1))
    place = (torch.arange(length) + shift).clamp(0, length - 1)
    return chirps.gather(1, place) * gain + 0.08 * torch.randn(rows, length)


class Encoder(nn.Module):
    def __init__(self, length, width, projection):
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(length, width), nn.BatchNorm1d(width), nn.ReLU(),
            nn.Linear(width, width), nn.BatchNorm1d(width), nn.ReLU(),
            nn.Linear(width, width), nn.BatchNorm1d(width), nn.ReLU(),
        )
        self.projector = nn.Sequential(
            nn.Linear(width, width), nn.BatchNorm1d(width), nn.ReLU(), nn.Linear(width, projection),
        )

    def forward(self, x):
        return self.projector(self.body(x))


def off_diagonal(matrix):
    size = matrix.size(0)
    return matrix.flatten()[:-1].view(size - 1, size + 1)[:, 1:].flatten()


def vicreg(a, b, s):
    similar = F.mse_loss(a, b)
    spread, mixed = 0.0, 0.0
    for z in (a, b):
        z = z - z.mean(0)
        spread = spread + F.relu(1 - torch.sqrt(z.var(0) + 1e-4)).mean() / 2
        mixed = mixed + off_diagonal(z.T @ z / (len(z) - 1)).pow(2).sum() / z.size(1)
    return s.invariance * similar + s.variance * spread + s.covariance * mixed


def effective_rank(z):
    """Exponential of the entropy of the singular values (Roy & Vetterli, 2007)."""
    u, singular, v = torch.linalg.svd(z - z.mean(0))
    share = singular / singular.sum()
    return torch.exp(-(share * torch.log(share + 1e-9)).sum())


def neighbours_agree(model, chirps, animal):
    model.eval()
    with torch.no_grad():
        z = F.normalize(model.body(chirps), dim=1)
        similarity = z @ z.T
        similarity.fill_diagonal_(-1)
        agree = (animal[similarity.argmax(1)] == animal).float().mean().item()
    model.train()
    return agree


def main(s=Settings):
    torch.manual_seed(s.seed)
    generator = torch.Generator().manual_seed(s.seed)
    chirps, animal = make_chirps(s.chirps, s.length, generator)
    model = Encoder(s.length, s.width, s.projection)
    optimizer = torch.optim.Adam(model.parameters(), lr=s.lr)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, s.steps)

    level, spikes = None, 0
    ranks, losses = [], []
    step, began = 0, time.time()
    while step < s.steps:
        batch = chirps[torch.randint(s.chirps, (s.batch,), generator=generator)]
        good = copy.deepcopy(model.state_dict()), copy.deepcopy(optimizer.state_dict())
        a, b = model(view(batch)), model(view(batch))
        loss = vicreg(a, b, s)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        value = loss.item()

        if level is not None and value > s.spike * level:
            model.load_state_dict(good[0])
            optimizer.load_state_dict(good[1])
            spikes += 1
        else:
            level = value if level is None else 0.98 * level + 0.02 * value
        with torch.no_grad():
            ranks.append(effective_rank(torch.cat([a, b])))
        losses.append(value)

        step += 1
        if step % s.report == 0:
            recent = sum(losses[-s.report:]) / s.report
            print(
                f"{step:5d}  loss {recent:7.3f}  rank {ranks[-1].item():6.2f}  spikes {spikes}  "
                f"{(time.time() - began) / step * 1000:.1f} ms", flush=True,
            )
        if step % 400 == 0:
            print("       same animal:", round(neighbours_agree(model, chirps[:1500], animal[:1500]), 3), flush=True)

    torch.save({"model": model.state_dict(), "ranks": torch.stack(ranks)}, "chirps.pt")


if __name__ == "__main__":
    main()
