import torch
import torch.nn.functional as F


class Trainer:
    def __init__(self, model, cfg, callbacks):
        self.model, self.cfg, self.callbacks = model, cfg, callbacks
        decay = [p for p in model.parameters() if p.ndim > 1]
        plain = [p for p in model.parameters() if p.ndim <= 1]
        self.opt = torch.optim.AdamW([{"params": decay, "weight_decay": 0.01},
                                      {"params": plain, "weight_decay": 0.0}], lr=cfg.lr, fused=True)
        self.sched = torch.optim.lr_scheduler.LambdaLR(
            self.opt, lambda s: min((s + 1) / cfg.warmup, (cfg.warmup / (s + 1)) ** 0.5))
        self.step = 0
        self.last = self.smoothed = None

    def losses(self, batch):
        mean, spread, zone = self.model(batch["slots"], batch["pieces"])
        nll = F.gaussian_nll_loss(mean, batch["seconds"], spread.square())
        nxt = F.cross_entropy(zone[:, :-1].flatten(0, 1), batch["zone"][:, 1:].flatten())
        return nll, nxt

    def train_batch(self, batch):
        nll, nxt = self.losses(batch)
        loss = nll + self.cfg.zone_weight * nxt
        self.opt.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.cfg.clip)
        self.opt.step()
        self.sched.step()
        self.step += 1
        self.last = loss.item()
        self.smoothed = self.last if self.smoothed is None else 0.95 * self.smoothed + 0.05 * self.last

    @torch.no_grad()
    def evaluate(self, loader):
        self.model.eval()
        rows = [[v.item() for v in self.losses(batch)] for batch in loader]
        self.model.train()
        nll, nxt = (sum(c) / len(rows) for c in zip(*rows))
        return {"nll": nll, "zone": nxt}

    def fit(self, train, valid):
        for epoch in range(self.cfg.epochs):
            for batch in train:
                self.train_batch(batch)
                for c in self.callbacks:
                    c.on_batch_end(self)
            metrics = self.evaluate(valid)
            print("epoch", epoch, metrics, flush=True)
            for c in self.callbacks:
                c.on_epoch_end(self, metrics)
