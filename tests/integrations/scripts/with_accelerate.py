"""A tiny training with accelerate: python with_accelerate.py STEPS [callback]."""

import sys

import torch
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.set_num_threads(1)


def main(steps, callback):
    torch.manual_seed(0)
    data = TensorDataset(torch.randn(1024, 64), torch.randint(0, 8, (1024,)))
    model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 8))
    accelerator = Accelerator(cpu=True)
    model, optimizer, loader = accelerator.prepare(
        model, torch.optim.SGD(model.parameters(), lr=0.1), DataLoader(data, batch_size=16)
    )
    if callback:
        from diagnose.integrations.window import Window

        window = Window("report", start=5, steps=2)
    step = 0
    while step < steps:
        for x, y in loader:
            if callback:
                window.before_step(step)
            loss = nn.functional.cross_entropy(model(x), y)
            accelerator.backward(loss)
            optimizer.step()
            optimizer.zero_grad()
            step += 1
            if callback:
                window.after_step()
            if step == steps:
                break
    if callback:
        window.close()
    total = sum(parameter.double().sum().item() for parameter in model.parameters())
    print(f"trained {step} steps to {total:.9f}")
    if callback:
        print(window.report, window.document.headline)


main(int(sys.argv[1]), "callback" in sys.argv)
