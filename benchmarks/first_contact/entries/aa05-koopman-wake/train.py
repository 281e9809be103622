"""Train a Koopman autoencoder on sensor records of a wake."""
import argparse
import json
import os
from dataclasses import asdict, dataclass, field

import torch
import torch.nn.functional as F

from koopman import KoopmanAutoencoder
from wake import Windows, records


@dataclass
class Settings:
    sensors: int = 192
    runs: int = 40
    frames: int = 240
    length: int = 10
    batch_size: int = 96
    epochs: int = 5
    lr: float = 1e-3
    weights: dict = field(default_factory=lambda: {"rebuilt": 1.0, "forecast": 1.0, "linear": 0.5})
    out: str = "run"
    seed: int = 0


class Run:
    def __init__(self, settings):
        self.settings = settings
        torch.manual_seed(settings.seed)
        self.generator = torch.Generator().manual_seed(settings.seed)
        data = records(settings.runs, settings.frames, settings.sensors, self.generator)
        data = (data - data.mean()) / data.std()
        held = max(2, settings.runs // 10)
        self.train_windows = Windows(data[held:], settings.length)
        self.valid_windows = Windows(data[:held], settings.length)
        self.model = KoopmanAutoencoder(settings.sensors)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=settings.lr, weight_decay=1e-4, fused=True)
        os.makedirs(settings.out, exist_ok=True)
        self.best = float("inf")

    def losses(self, window):
        latent, predicted, rebuilt, forecast = self.model(window)
        return {
            "rebuilt": F.mse_loss(rebuilt, window),
            "forecast": F.mse_loss(forecast, window[:, 1:]),
            "linear": F.mse_loss(predicted, latent[:, 1:]),
        }

    def train_epoch(self, epoch, limit):
        size = self.settings.batch_size
        order = torch.randperm(len(self.train_windows), generator=self.generator)
        totals = torch.zeros(3)
        for i, picks in enumerate(order.split(size)[:len(order) // size]):
            losses = self.losses(self.train_windows.take(picks))
            loss = sum(self.settings.weights[k] * v for k, v in losses.items())
            self.optimizer.zero_grad(set_to_none=True)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), 5.0)
            self.optimizer.step()
            totals += torch.stack([v.detach() for v in losses.values()])
            if (i + 1) % 40 == 0:
                print(f"epoch {epoch} batch {i + 1} loss {loss.item():.5f}", flush=True)
            if limit and i + 1 == limit:
                break
        return (totals / (i + 1)).tolist()

    @torch.inference_mode()
    def validate(self):
        self.model.eval()
        sums, count = torch.zeros(3), 0
        for picks in torch.arange(0, len(self.valid_windows), 4).split(self.settings.batch_size):
            losses = self.losses(self.valid_windows.take(picks))
            sums += len(picks) * torch.stack(list(losses.values()))
            count += len(picks)
        self.model.train()
        return dict(zip(self.settings.weights, (sums / count).tolist()))

    def fit(self, limit=0):
        history = []
        for epoch in range(self.settings.epochs):
            train = self.train_epoch(epoch, limit)
            valid = self.validate()
            history.append({"epoch": epoch, "train": train, "valid": valid, "radius": self.model.spectral_radius()})
            print(f"epoch {epoch} valid " + " ".join(f"{k} {v:.5f}" for k, v in valid.items())
                  + f" radius {history[-1]['radius']:.4f}", flush=True)
            if valid["forecast"] < self.best:
                self.best = valid["forecast"]
                torch.save(self.model.state_dict(), os.path.join(self.settings.out, "best.pt"))
        with open(os.path.join(self.settings.out, "history.json"), "w") as f:
            json.dump({"settings": asdict(self.settings), "history": history}, f, indent=1)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=Settings.epochs)
    parser.add_argument("--batch-size", type=int, default=Settings.batch_size)
    parser.add_argument("--limit", type=int, default=0, help="batches per epoch (0: all)")
    parser.add_argument("--out", default=Settings.out)
    args = parser.parse_args()
    Run(Settings(epochs=args.epochs, batch_size=args.batch_size, out=args.out)).fit(args.limit)
