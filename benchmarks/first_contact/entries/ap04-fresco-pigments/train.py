import argparse
import time

import torch
from torch import nn
from torch.nn import functional as F

import data


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.one = nn.Conv2d(width, width, 3, padding=1, bias=False)
        self.two = nn.Conv2d(width, width, 3, padding=1, bias=False)
        self.norm_one, self.norm_two = nn.GroupNorm(8, width), nn.GroupNorm(8, width)

    def forward(self, x):
        y = self.one(F.relu(self.norm_one(x)))
        return x + self.two(F.relu(self.norm_two(y)))


class PigmentNet(nn.Module):
    def __init__(self, bands, classes, width=24):
        super().__init__()
        self.spectral = nn.Sequential(nn.Conv2d(bands, 48, 1), nn.ReLU(), nn.Conv2d(48, width, 1))
        self.early = nn.Sequential(Block(width), Block(width))
        self.down = nn.Conv2d(width, 2 * width, 2, stride=2)
        self.late = nn.Sequential(Block(2 * width), Block(2 * width))
        self.head = nn.Linear(2 * width, classes)

    def forward(self, x):
        x = self.late(self.down(self.early(self.spectral(x))))
        return self.head(F.relu(x).mean((2, 3)))


class SharpnessAware:
    """Foret et al., 2021: the gradient is taken at the worst point within rho of the weights."""

    def __init__(self, parameters, optimizer, rho):
        self.parameters = [p for p in parameters if p.requires_grad]
        self.optimizer, self.rho = optimizer, rho

    @torch.no_grad()
    def climb(self):
        gradients = [p.grad for p in self.parameters]
        norm = torch.linalg.vector_norm(torch.stack(torch._foreach_norm(gradients)))
        self.offset = torch._foreach_mul(gradients, self.rho / (norm + 1e-12))
        torch._foreach_add_(self.parameters, self.offset)
        self.optimizer.zero_grad()

    @torch.no_grad()
    def descend(self):
        torch._foreach_sub_(self.parameters, self.offset)
        self.optimizer.step()
        self.optimizer.zero_grad()


def mixed_loss(model, cubes, first, second, share):
    logits = model(cubes)
    loss = share * F.cross_entropy(logits, first, reduction="none")
    loss = loss + (1 - share) * F.cross_entropy(logits, second, reduction="none")
    return loss.mean()


@torch.inference_mode()
def held_accuracy(model, cubes, labels):
    model.eval()
    right = sum((model(part).argmax(1) == truth).sum() for part, truth in zip(cubes.split(128), labels.split(128)))
    model.train()
    return right.item() / len(labels)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--batch-size", type=int, default=24)
    parser.add_argument("--bands", type=int, default=31)
    parser.add_argument("--rho", type=float, default=0.05)
    parser.add_argument("--lr", type=float, default=0.05)
    parser.add_argument("--decay", type=float, default=0.995)
    options = parser.parse_args()

    torch.manual_seed(8)
    generator = torch.Generator().manual_seed(8)
    cubes, labels = data.patches(1920, options.bands, 16, seed=1)
    held_cubes, held_labels = data.patches(256, options.bands, 16, seed=2)

    model = PigmentNet(options.bands, len(data.PIGMENTS)).to(memory_format=torch.channels_last)
    average = torch.optim.swa_utils.AveragedModel(model, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(options.decay))
    optimizer = torch.optim.SGD(model.parameters(), lr=options.lr, momentum=0.9, weight_decay=5e-4, nesterov=True)
    sam = SharpnessAware(model.parameters(), optimizer, options.rho)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, options.epochs * (len(labels) // options.batch_size))

    for epoch in range(options.epochs):
        began, total, count = time.perf_counter(), 0.0, 0
        for part, truth in data.batches(cubes, labels, options.batch_size, generator):
            mixed = data.mixup(data.turn(part, generator), truth, 0.4, generator)
            loss = mixed_loss(model, *mixed)
            loss.backward()
            sam.climb()
            mixed_loss(model, *mixed).backward()
            sam.descend()
            average.update_parameters(model)
            schedule.step()
            total, count = total + loss.item(), count + 1
        line = f"epoch {epoch:2d} loss {total / count:.4f} {time.perf_counter() - began:.1f} s"
        if epoch % 4 == 3:
            line += f" held {held_accuracy(average, held_cubes, held_labels):.3f}"
            torch.save(average.module.state_dict(), "pigments.pt")
        print(line, flush=True)
