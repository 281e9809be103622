"""A tiny training with Lightning: python with_lightning.py STEPS [callback [watch]]."""

import logging
import sys

import lightning
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.set_num_threads(1)
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)


class Net(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 8))

    def training_step(self, batch, index):
        x, y = batch
        return nn.functional.cross_entropy(self.net(x), y)

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)


def main(steps, callback, watch):
    torch.manual_seed(0)
    data = TensorDataset(torch.randn(1024, 64), torch.randint(0, 8, (1024,)))
    callbacks = []
    if callback:
        from diagnose.integrations.lightning import DiagnoseCallback

        callbacks = [DiagnoseCallback(out="report", start=5, steps=2, watch=watch)]
    trainer = lightning.Trainer(
        max_steps=steps,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        callbacks=callbacks,
    )
    model = Net()
    trainer.fit(model, DataLoader(data, batch_size=16))
    total = sum(parameter.double().sum().item() for parameter in model.parameters())
    print(f"trained {trainer.global_step} steps to {total:.9f}")
    for found in callbacks:
        print(found.window.report, found.window.document.headline)


main(int(sys.argv[1]), "callback" in sys.argv, "watch" in sys.argv)
