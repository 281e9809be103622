import math
import time

import torch


class Callback:
    def on_step_end(self, trainer): ...
    def on_evaluate(self, trainer, metrics): ...


class PrintCallback(Callback):
    def __init__(self, every=20):
        self.every, self.total, self.t0 = every, 0.0, time.time()

    def on_step_end(self, trainer):
        self.total += trainer.loss.item()
        if trainer.step % self.every == 0:
            print(f"step {trainer.step:5d} loss {self.total / self.every:.4f} grad {trainer.grad_norm:.2f} "
                  f"lr {trainer.opt.param_groups[1]['lr']:.2e} {time.time() - self.t0:.1f}s", flush=True)
            self.total = 0.0


class KeepBest(Callback):
    def __init__(self):
        self.best, self.state = math.inf, None

    def on_evaluate(self, trainer, metrics):
        if metrics["eval_loss"] < self.best:
            self.best = metrics["eval_loss"]
            self.state = {k: v.detach().clone() for k, v in trainer.model.state_dict().items()}


class Trainer:
    def __init__(self, model, opt, sched, train_loader, eval_loader, callbacks=(), clip=1.0, eval_every=60):
        self.model, self.opt, self.sched = model, opt, sched
        self.train_loader, self.eval_loader = train_loader, eval_loader
        self.callbacks, self.clip, self.eval_every = list(callbacks), clip, eval_every
        self.params = [p for g in opt.param_groups for p in g["params"] if g["lr"] > 0]
        self.step = 0

    def call(self, name, *args):
        for cb in self.callbacks:
            getattr(cb, name)(self, *args)

    def train_step(self, batch):
        self.loss = self.model(**batch)["loss"]
        self.opt.zero_grad()
        self.loss.backward()
        self.grad_norm = torch.nn.utils.clip_grad_norm_(self.params, self.clip)
        self.opt.step()
        self.sched.step()

    @torch.no_grad()
    def evaluate(self):
        self.model.eval()
        loss = hits = count = 0
        for batch in self.eval_loader:
            out = self.model(**batch)
            target = batch["labels"][:, 1:]
            mask = target != -100
            hits += (out["logits"][:, :-1].argmax(-1)[mask] == target[mask]).sum().item()
            loss += out["loss"].item() * mask.sum().item()
            count += mask.sum().item()
        self.model.train()
        return {"eval_loss": loss / count, "eval_acc": hits / count}

    def fit(self, epochs):
        self.model.train()
        for epoch in range(epochs):
            for batch in self.train_loader:
                self.step += 1
                self.train_step(batch)
                self.call("on_step_end")
                if self.step % self.eval_every == 0:
                    metrics = self.evaluate()
                    print(f"step {self.step:5d} " + " ".join(f"{k} {v:.4f}" for k, v in metrics.items()))
                    self.call("on_evaluate", metrics)
