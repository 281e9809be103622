import json
import os
import tempfile

import torch


class Callback:
    def on_step(self, trainer, step, loss):
        pass

    def on_finish(self, trainer):
        pass


class LossHistory(Callback):
    """Smoothed loss for the plots, written every few hundred steps."""

    def __init__(self, path=None, every=250):
        self.path = path or os.path.join(tempfile.gettempdir(), "two_tower_history.json")
        self.every = every
        self.window, self.points = [], []

    def on_step(self, trainer, step, loss):
        self.window.append(loss.detach())
        if step % self.every == 0:
            mean = torch.stack(self.window).mean().item()
            self.points.append([step, mean])
            self.window.clear()
            with open(self.path, "w") as f:
                json.dump(self.points, f)
            print(f"step {step:5d}  loss {mean:.4f}")


class HitRate(Callback):
    def __init__(self, train, heldout, users, k=20, every=300):
        self.train, self.heldout = train, heldout
        self.users = users
        self.k, self.every = k, every

    @torch.no_grad()
    def on_step(self, trainer, step, loss):
        if step % self.every:
            return
        model = trainer.model.eval()
        items = model.items(torch.arange(trainer.n_items))
        scores = model.users(torch.tensor(self.users)) @ items.T
        for row, user in enumerate(self.users):
            scores[row, self.train[user]] = -torch.inf
        top = scores.topk(self.k, dim=1).indices
        wanted = torch.tensor([self.heldout[u] for u in self.users]).unsqueeze(1)
        print(f"step {step:5d}  hit@{self.k} {(top == wanted).any(1).float().mean().item():.3f}")
        model.train()
