import gc
import json
import time

import torch


class Callback:
    def on_batch_end(self, trainer): ...

    def on_epoch_end(self, trainer, metrics): ...


class StepLog(Callback):
    def __init__(self, every):
        self.every = every
        self.began = time.time()

    def on_batch_end(self, trainer):
        if trainer.step % self.every == 0:
            print(f"step {trainer.step:5d} loss {trainer.smoothed:.4f} "
                  f"lr {trainer.sched.get_last_lr()[0]:.2e} {time.time() - self.began:.0f}s", flush=True)


class MemoryGuard(Callback):
    """Keeps long runs on the shared hosts within their allowance."""

    def __init__(self, every=5):
        self.every = every

    def on_batch_end(self, trainer):
        if trainer.step % self.every == 0:
            gc.collect()
            if torch.cuda.is_available():
                torch.cuda.empty_cache()


class History(Callback):
    def __init__(self, path):
        self.path = path
        self.losses = []

    def on_batch_end(self, trainer):
        self.losses.append(trainer.last)

    def on_epoch_end(self, trainer, metrics):
        with open(self.path, "a") as f:
            f.write(json.dumps({"step": trainer.step, "losses": self.losses, **metrics}) + "\n")
        self.losses = []


class KeepBest(Callback):
    def __init__(self, path):
        self.path, self.best = path, float("inf")

    def on_epoch_end(self, trainer, metrics):
        if metrics["nll"] < self.best:
            self.best = metrics["nll"]
            torch.save(trainer.model.state_dict(), self.path)
