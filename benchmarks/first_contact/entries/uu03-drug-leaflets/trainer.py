"""A small trainer."""
import math
import os
import time

import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader


class Trainer:
    def __init__(self, model, optimizer, train_set, dev_set, args):
        self.model = model
        self.optimizer = optimizer
        self.args = args
        self.train_loader = DataLoader(train_set, batch_size=args.batch_size, shuffle=True, drop_last=True)
        self.dev_loader = DataLoader(dev_set, batch_size=2 * args.batch_size)
        self.classes = len(train_set.systems)
        self.total_steps = args.epochs * len(self.train_loader)
        self.schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, self.rate)
        self.step = 0
        self.best = -1.0
        os.makedirs(args.out, exist_ok=True)

    def rate(self, step):
        warmup = max(1, int(0.1 * self.total_steps))
        if step < warmup:
            return (step + 1) / warmup
        return 0.5 * (1 + math.cos(math.pi * (step - warmup) / max(1, self.total_steps - warmup)))

    def training_step(self, batch):
        logits = self.model(batch["input_ids"], batch["attention_mask"])
        loss = F.cross_entropy(logits, batch["label"], label_smoothing=self.args.smoothing)
        self.optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.head_parameters(), self.args.max_norm)
        self.optimizer.step()
        self.schedule.step()
        right = (logits.argmax(1) == batch["label"]).float().mean()
        return loss.item(), right.item()

    def train(self):
        for epoch in range(1, self.args.epochs + 1):
            self.model.train()
            began = time.time()
            losses, rights = [], []
            for batch in self.train_loader:
                loss, right = self.training_step(batch)
                losses.append(loss)
                rights.append(right)
                self.step += 1
                if self.step % self.args.log_every == 0:
                    recent = self.args.log_every
                    print(f"step {self.step:4d}/{self.total_steps} loss {sum(losses[-recent:]) / recent:.4f} "
                          f"accuracy {sum(rights[-recent:]) / recent:.3f} "
                          f"lr {self.schedule.get_last_lr()[0]:.2e}", flush=True)
            scores = self.evaluate()
            print(f"epoch {epoch}: {time.time() - began:.1f} s, train loss {sum(losses) / len(losses):.4f}, "
                  + ", ".join(f"{name} {value:.4f}" for name, value in scores.items()), flush=True)
            if scores["macro_f1"] > self.best:
                self.best = scores["macro_f1"]
                self.save("best_head.pt")

    @torch.no_grad()
    def evaluate(self):
        self.model.eval()
        confusion = torch.zeros(self.classes, self.classes)
        loss, count = 0.0, 0
        for batch in self.dev_loader:
            logits = self.model(batch["input_ids"], batch["attention_mask"])
            loss += F.cross_entropy(logits, batch["label"], reduction="sum").item()
            count += len(logits)
            pairs = batch["label"] * self.classes + logits.argmax(1)
            confusion += torch.bincount(pairs, minlength=self.classes ** 2).view_as(confusion)
        hit = confusion.diag()
        f1 = 2 * hit / (confusion.sum(0) + confusion.sum(1)).clamp(min=1)
        return {"dev_loss": loss / count, "accuracy": (hit.sum() / count).item(), "macro_f1": f1.mean().item()}

    def save(self, name):
        head = {key: value for key, value in self.model.state_dict().items() if not key.startswith("encoder.")}
        torch.save({"head": head, "step": self.step, "macro_f1": self.best}, os.path.join(self.args.out, name))
