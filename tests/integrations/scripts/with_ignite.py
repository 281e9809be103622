"""A tiny training with PyTorch-Ignite: python with_ignite.py STEPS [callback [watch]]."""

import sys

import torch
from ignite.engine import create_supervised_trainer
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.set_num_threads(1)


def main(steps, callback, watch):
    torch.manual_seed(0)
    data = TensorDataset(torch.randn(1024, 64), torch.randint(0, 8, (1024,)))
    model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 8))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    trainer = create_supervised_trainer(model, optimizer, nn.CrossEntropyLoss())
    if callback:
        from diagnose.integrations.ignite import DiagnoseHandler

        handler = DiagnoseHandler(out="report", start=5, steps=2, watch=watch)
        handler.attach(trainer)
    trainer.run(DataLoader(data, batch_size=16), max_iters=steps)
    total = sum(parameter.double().sum().item() for parameter in model.parameters())
    print(f"trained {trainer.state.iteration} steps to {total:.9f}")
    if callback:
        print(handler.window.report, handler.window.document.headline)


main(int(sys.argv[1]), "callback" in sys.argv, "watch" in sys.argv)
