"""Habits that cost time or memory; the comments name what a test expects. Every loss is 16."""

import gc

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.set_num_threads(1)
torch.manual_seed(0)


class Batch:
    def __init__(self, x):
        self.x = x


def together(items):
    return Batch(torch.stack([x for (x,) in items]))


def main():
    loader = DataLoader(TensorDataset(torch.ones(30, 4)), batch_size=8, shuffle=True, collate_fn=together)  # loader
    model = nn.Linear(4, 1, bias=False)
    nn.init.ones_(model.weight)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0, momentum=0.9)
    scale = torch.ones(4)
    kept = []
    gc.freeze()
    for epoch in range(1000):
        for batch in loader:  # loop
            loss = model(batch.x).square().mean()
            optimizer.zero_grad(set_to_none=False)  # zero
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1000.0, error_if_nonfinite=True)  # clip
            optimizer.step()
            scale.double()  # convert
            scale.to("meta")  # move
            batch.x.double()
            print(loss)  # print
            kept.append(torch.ones(1 << 20))  # four megabytes
            gc.collect()  # collect


main()
