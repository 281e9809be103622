"""Learns a descriptor for watermarks: two sheets from the same mould lie close, those from a memory of others far."""
import logging
import sys
import time

import numpy as np
import torch
from torch import nn, optim
from torch.nn import functional as F

log = logging.getLogger("watermarks")


class Radiographs:
    def __init__(self, path, held=40):
        self.sheets = torch.from_numpy(np.load(path)["sheets"])
        self.held = held
        self.moulds = len(self.sheets) - held

    @property
    def pictures(self):
        flat = self.sheets.float() / 255
        return (flat - 0.45) / 0.18

    def pairs(self, count):
        moulds = torch.randperm(self.moulds)[:count]
        first = torch.randint(self.sheets.shape[1], (count,))
        second = (first + torch.randint(1, self.sheets.shape[1], (count,))) % self.sheets.shape[1]
        pictures = self.pictures
        return moulds, pictures[moulds, first][:, None], pictures[moulds, second][:, None]

    def held_out(self):
        pictures = self.pictures[self.moulds:]
        return pictures[:, 0][:, None], pictures[:, 1][:, None]


class Descriptor(nn.Module):
    def __init__(self, channels=(12, 24, 48, 64), size=64):
        super().__init__()
        stages, before = [], 1
        for width in channels:
            stages += [nn.Conv2d(before, width, 3, stride=2, padding=1), nn.GroupNorm(4, width), nn.ReLU()]
            before = width
        self.stages = nn.Sequential(*stages)
        self.project = nn.Linear(before * 16, size)

    def forward(self, picture):
        return self.project(self.stages(picture).flatten(1))


class Memory:
    """The latest descriptors, with the moulds that they come from."""

    def __init__(self, length, size):
        self.keys = torch.randn(length, size)
        self.moulds = torch.full((length,), -1)
        self.at = 0

    def push(self, keys, moulds):
        where = (self.at + torch.arange(len(keys))) % len(self.keys)
        self.keys[where], self.moulds[where] = keys, moulds
        self.at = (self.at + len(keys)) % len(self.keys)


class Trainer:
    def __init__(self, data, batch=40, temperature=0.1, memory=512):
        self.data, self.batch, self.temperature = data, batch, temperature
        self.net = Descriptor()
        self.memory = Memory(memory, 64)
        self.similarity = nn.CosineSimilarity(dim=2)
        self.optimizer = optim.SGD(self.net.parameters(), lr=0.05, momentum=0.9, nesterov=True, weight_decay=1e-4)
        self.plan = optim.lr_scheduler.MultiStepLR(self.optimizer, [14, 20], 0.2)

    def contrast(self, anchors, positives, moulds):
        others = self.memory.keys.clone()
        near = F.cosine_similarity(anchors, positives)[:, None]
        far = self.similarity(anchors.unsqueeze(1), others.unsqueeze(0))
        far = far.masked_fill(self.memory.moulds == moulds[:, None], -1.0)
        scores = torch.cat([near, far], 1) / self.temperature
        return F.cross_entropy(scores, torch.zeros(len(anchors), dtype=torch.long))

    def step(self):
        moulds, left, right = self.data.pairs(self.batch)
        anchors, positives = self.net(torch.cat([left, right])).chunk(2)
        loss = self.contrast(anchors, positives, moulds)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.memory.push(positives.detach(), moulds)
        return loss.detach()

    @torch.no_grad()
    def recall(self):
        self.net.eval()
        left, right = (F.normalize(self.net(part)) for part in self.data.held_out())
        self.net.train()
        return ((left @ right.T).argmax(1) == torch.arange(len(left))).float().mean().item()

    def fit(self, epochs=24, steps=60):
        for epoch in range(epochs):
            begun = time.perf_counter()
            total = 0.0
            for _ in range(steps):
                loss = self.step()
                total += loss.item()
            self.plan.step()
            log.info("epoch %d  loss %.4f  recall %.3f  %.1f s", epoch, total / steps, self.recall(), time.perf_counter() - begun)
            torch.save(self.net.state_dict(), "descriptor.pt")


if __name__ == "__main__":
    logging.basicConfig(stream=sys.stdout, level=logging.INFO, format="%(message)s")
    torch.manual_seed(8)
    Trainer(Radiographs("watermarks.npz")).fit()
