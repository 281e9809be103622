import json
import math
import sys

import torch
from torch import nn
from torch.nn import functional as F

from bobbins import Handling, pillow

CONFIG = {
    "size": 64, "classes": 12, "scans": 1344, "held": 192, "batch": 16, "epochs": 18,
    "widths": [24, 48], "depths": [2, 2], "lr": 2e-3, "weight_decay": 0.02, "warmup": 60, "smoothing": 0.05,
}


def gelu(x):
    return 0.5 * x * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * torch.pow(x, 3.0))))


class Stitch(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.spatial = nn.Conv2d(width, width, 5, padding=2, groups=width)
        self.norm = nn.BatchNorm2d(width)
        self.widen = nn.Conv2d(width, 3 * width, 1)
        self.narrow = nn.Conv2d(3 * width, width, 1)

    def forward(self, x):
        return x + self.narrow(gelu(self.widen(self.norm(self.spatial(x)))))


class LaceNet(nn.Module):
    def __init__(self, widths, depths, classes):
        super().__init__()
        layers = [nn.Conv2d(1, widths[0], 4, stride=4)]
        for number, (width, depth) in enumerate(zip(widths, depths)):
            if number:
                layers.append(nn.Conv2d(widths[number - 1], width, 2, stride=2))
            layers += [Stitch(width) for _ in range(depth)]
        self.body = nn.Sequential(*layers)
        self.head = nn.Linear(widths[-1], classes)

    def forward(self, x):
        return self.head(self.body(x).mean((2, 3)))


class Trainer:
    def __init__(self, config):
        self.config = config
        torch.manual_seed(config.get("seed", 2))
        self.scans, self.labels = pillow(config["scans"], config["size"], config["classes"], 10)
        self.held = pillow(config["held"], config["size"], config["classes"], 11)
        self.handling = Handling()
        self.model = LaceNet(config["widths"], config["depths"], config["classes"]).to(memory_format=torch.channels_last)
        self.optimizer = torch.optim.AdamW(
            self.model.parameters(), lr=config["lr"], weight_decay=config["weight_decay"], fused=True)
        self.total = config["epochs"] * (config["scans"] // config["batch"])
        self.scheduler = torch.optim.lr_scheduler.LambdaLR(self.optimizer, self.rate)
        self.log = []

    def rate(self, step):
        if step < self.config["warmup"]:
            return (step + 1) / self.config["warmup"]
        return 0.5 * (1 + math.cos(math.pi * step / self.total))

    def epoch(self):
        losses = []
        for rows in torch.randperm(len(self.scans)).split(self.config["batch"]):
            scans = self.handling(self.scans[rows])
            logits = self.model(scans.contiguous(memory_format=torch.channels_last))
            loss = F.cross_entropy(logits, self.labels[rows], label_smoothing=self.config["smoothing"])
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            self.scheduler.step()
            losses.append(loss.detach())
        return torch.stack(losses).mean().item()

    @torch.no_grad()
    def accuracy(self):
        self.model.eval()
        right = (self.model(self.held[0]).argmax(1) == self.held[1]).float().mean().item()
        self.model.train()
        return right

    def run(self):
        for number in range(self.config["epochs"]):
            self.log.append({"epoch": number, "loss": self.epoch(), "held": self.accuracy()})
            print(self.log[-1], flush=True)
        with open("lace.json", "w") as out:
            json.dump(self.log, out)
        torch.save(self.model.state_dict(), "lace.pt")


if __name__ == "__main__":
    config = dict(CONFIG)
    if len(sys.argv) > 1:
        with open(sys.argv[1]) as given:
            config.update(json.load(given))
    Trainer(config).run()
