import time

import torch

from losses import SpectralLoss, si_sdr
from metrics import fw_seg_snr


class Trainer:
    def __init__(self, model, train_loader, valid_loader, args):
        self.model = model
        self.train_loader = train_loader
        self.valid_loader = valid_loader
        self.args = args
        self.spectral = SpectralLoss()
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
        self.best = float("-inf")

    def step(self, noisy, clean):
        self.optimizer.zero_grad()
        estimate = self.model(noisy)
        sdr = si_sdr(estimate, clean).mean()
        loss = self.args.spectral_weight * self.spectral(estimate, clean) - sdr
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 5.0)
        self.optimizer.step()
        return loss.item(), sdr.item()

    def train_epoch(self, epoch):
        self.model.train()
        total = 0.0
        for i, (noisy, clean) in enumerate(self.train_loader, 1):
            loss, sdr = self.step(noisy, clean)
            total += loss
            if i % self.args.log_every == 0:
                print(f"epoch {epoch} step {i}/{len(self.train_loader)} loss {loss:.3f} si-sdr {sdr:.2f}", flush=True)
        return total / len(self.train_loader)

    @torch.no_grad()
    def validate(self):
        self.model.eval()
        sdr, fwseg = 0.0, 0.0
        for noisy, clean in self.valid_loader:
            estimate = self.model(noisy)
            sdr += si_sdr(estimate, clean).sum().item()
            for c, e in zip(clean.numpy(), estimate.numpy()):
                fwseg += fw_seg_snr(c, e, self.args.sample_rate)
        n = len(self.valid_loader.dataset)
        return sdr / n, fwseg / n

    def fit(self):
        for epoch in range(1, self.args.epochs + 1):
            start = time.time()
            loss = self.train_epoch(epoch)
            sdr, fwseg = self.validate()
            print(f"epoch {epoch} train {loss:.3f} valid si-sdr {sdr:.2f} fwSNRseg {fwseg:.3f} "
                  f"({time.time() - start:.1f} s)", flush=True)
            if sdr > self.best:
                self.best = sdr
                torch.save({"model": self.model.state_dict(), "epoch": epoch}, self.args.checkpoint)
