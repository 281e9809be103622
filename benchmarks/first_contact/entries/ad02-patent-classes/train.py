import json
import sys
import time

import torch

from data import make_loaders
from metrics import report
from model import MultiLabelLoss, PatentClassifier


class Trainer:
    def __init__(self, cfg):
        self.cfg = cfg
        torch.manual_seed(cfg["seed"])
        self.train_loader, self.val_loader = make_loaders(cfg)
        self.model = PatentClassifier(cfg)
        frequency = torch.stack([target for _, target in self.train_loader.dataset]).mean(0)
        self.criterion = MultiLabelLoss((frequency.mean() / frequency.clamp(min=1e-3)).sqrt())
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=cfg["lr"], weight_decay=cfg["weight_decay"])
        self.scheduler = torch.optim.lr_scheduler.OneCycleLR(
            self.optimizer, cfg["lr"], epochs=cfg["epochs"], steps_per_epoch=len(self.train_loader)
        )
        self.best = 0.0

    def step(self, tokens, targets):
        loss = self.criterion(self.model(tokens), targets)
        self.optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.cfg["clip"])
        self.optimizer.step()
        self.scheduler.step()
        return loss.detach()

    def train_epoch(self, epoch):
        self.model.train()
        total = torch.zeros(())
        for i, (tokens, targets) in enumerate(self.train_loader, 1):
            total += self.step(tokens, targets)
            if i % self.cfg["log_every"] == 0:
                print(f"epoch {epoch} [{i}/{len(self.train_loader)}] loss {total.item() / i:.4f}", flush=True)

    @torch.no_grad()
    def validate(self):
        self.model.eval()
        scores, targets = [], []
        for tokens, target in self.val_loader:
            scores.append(self.model(tokens).sigmoid())
            targets.append(target)
        return report(torch.cat(targets).numpy(), torch.cat(scores).numpy())

    def fit(self):
        for epoch in range(1, self.cfg["epochs"] + 1):
            start = time.time()
            self.train_epoch(epoch)
            result = self.validate()
            print(f"epoch {epoch}: " + " ".join(f"{k} {v:.4f}" for k, v in result.items()) + f" {time.time() - start:.1f}s")
            if result["micro_f1"] > self.best:
                self.best = result["micro_f1"]
                torch.save(self.model.state_dict(), self.cfg["checkpoint"])


if __name__ == "__main__":
    path = sys.argv[1] if len(sys.argv) > 1 else "config.json"
    with open(path) as f:
        Trainer(json.load(f)).fit()
