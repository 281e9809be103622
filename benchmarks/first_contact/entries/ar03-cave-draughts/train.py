import csv

import torch
from torch import nn

HOURS, LOGGERS, KERNELS, BATCH, STEPS = 24 * 40, 60, 1280, 512, 1800
REACH, HELD_LOGGERS, REPORT = 0.05, 8, 150


def draughts(loggers, hours, generator):
    """Loggers along a cave of 900 m measure the draught each hour. Air goes in or out with the temperature outside
    and with the pressure, passages branch off and the air's inertia makes it whistle; all lengths are scaled to 1."""
    along = torch.rand(loggers, generator=generator)
    height = torch.rand(loggers, generator=generator)
    t = torch.arange(hours).float()
    outside = 8 * torch.sin(2 * torch.pi * t / 24) + 4 * torch.sin(2 * torch.pi * t / 170 + 1)
    pressure = torch.randn(hours, generator=generator).cumsum(0)
    pressure = (pressure - pressure.mean()) / pressure.std()
    chimney = outside.view(1, -1) * (height - 0.4).view(-1, 1) * 0.2
    breath = torch.gradient(pressure)[0].view(1, -1) * torch.exp(-2 * along).view(-1, 1)
    side = torch.sin(14 * along).view(-1, 1) * torch.cos(2 * torch.pi * t / 24 - 6 * along.view(-1, 1))
    speed = chimney + breath + 0.5 * side + 0.05 * torch.randn(loggers, hours, generator=generator)
    where = torch.stack([
        along.view(-1, 1).expand(-1, hours), height.view(-1, 1).expand(-1, hours), (t / hours).expand(loggers, -1)], 2)
    return where, speed


class KernelField(nn.Module):
    """Gaussian kernels with centres and reaches of their own, and a small network on what they give."""

    def __init__(self, kernels, inputs, reach, width=96):
        super().__init__()
        self.centres = nn.Parameter(torch.rand(kernels, inputs))
        self.log_reach = nn.Parameter(torch.full((kernels,), reach).log())
        self.mix = nn.Linear(kernels, width)
        self.hidden = nn.Linear(width, width)
        self.speed = nn.Linear(width, 1)

    def kernels(self, x):
        square = x.square().sum(1, keepdim=True) + self.centres.square().sum(1) - 2 * x @ self.centres.T
        return torch.exp(-0.5 * square.clamp_min(0) * torch.exp(-2 * self.log_reach))

    def forward(self, x):
        y = torch.tanh(self.mix(self.kernels(x)))
        y = y + torch.tanh(self.hidden(y))
        return self.speed(y).squeeze(1)


@torch.no_grad()
def held_error(field, where, speed):
    error = torch.cat([field(part) for part in where.split(1024)]) - speed
    return error.square().mean().sqrt().item()


torch.manual_seed(30)
where, speed = draughts(LOGGERS, HOURS, torch.Generator().manual_seed(12))
held_where, held_speed = where[:HELD_LOGGERS, ::6].flatten(0, 1), speed[:HELD_LOGGERS, ::6].flatten()
where, speed = where[HELD_LOGGERS:].flatten(0, 1), speed[HELD_LOGGERS:].flatten()

field = KernelField(KERNELS, where.size(1), REACH)
optimizer = torch.optim.Adam([
    {"params": [field.centres, field.log_reach], "lr": 2e-3},
    {"params": [*field.mix.parameters(), *field.hidden.parameters(), *field.speed.parameters()], "lr": 1e-3},
], fused=True)
scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, [STEPS // 2, STEPS * 4 // 5], 0.3)

step, running, rows_out = 0, torch.zeros(()), []
while step < STEPS:
    for rows in torch.randperm(len(where)).split(BATCH):
        loss = nn.functional.smooth_l1_loss(field(where[rows]), speed[rows], beta=0.5)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        running += loss.detach()
        step += 1
        if step % REPORT == 0:
            rows_out.append([step, running.item() / REPORT, held_error(field, held_where, held_speed)])
            print("step {:5d}  loss {:.4f}  held {:.4f}".format(*rows_out[-1]), flush=True)
            running.zero_()
        if step == STEPS:
            break

with open("draughts.csv", "w", newline="") as out:
    csv.writer(out).writerows([["step", "loss", "held"], *rows_out])
torch.save(field.state_dict(), "draughts.pt")
