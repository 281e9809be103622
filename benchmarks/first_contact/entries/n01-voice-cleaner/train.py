"""Speech denoising in the time domain with a spectral loss."""
import argparse
import logging
import os
import sys
import tempfile

import torch

from data import Mixer
from losses import SpectralLoss, si_sdr
from model import MaskNet

log = logging.getLogger("denoise")


def parse():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--steps", type=int, default=1000)
    p.add_argument("--batch-size", type=int, default=6)
    p.add_argument("--crop", type=int, default=4096)
    p.add_argument("--rate", type=int, default=16000)
    p.add_argument("--seconds", type=float, default=3.0)
    p.add_argument("--voices", type=int, default=160)
    p.add_argument("--lr", type=float, default=1e-3)
    p.add_argument("--spectral-weight", type=float, default=0.5)
    p.add_argument("--eval-every", type=int, default=300)
    p.add_argument("--log-every", type=int, default=20)
    p.add_argument("--clip", type=float, default=5.0)
    p.add_argument("--seed", type=int, default=3)
    p.add_argument("--verbose", action="store_true")
    p.add_argument("--out", default=os.path.join(tempfile.gettempdir(), "denoiser.pt"))
    return p.parse_args()


class Trainer:
    def __init__(self, args):
        self.args = args
        self.model = MaskNet()
        self.spectral = SpectralLoss()
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=args.lr, fused=True)
        self.schedule = torch.optim.lr_scheduler.CosineAnnealingLR(self.optimizer, args.steps)
        self.train_data = Mixer(args, args.voices, args.seed)
        self.valid_data = Mixer(args, 24, args.seed + 1)
        self.valid_set = [self.valid_data.batch() for _ in range(6)]
        self.best = float("-inf")

    def step(self, number):
        noisy, clean = self.train_data.batch()
        estimate = self.model(noisy)
        wave_loss = (estimate - clean).abs().mean()
        spectral_loss = self.spectral(estimate, clean)
        loss = wave_loss + self.args.spectral_weight * spectral_loss
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.args.clip)
        self.optimizer.step()
        self.schedule.step()
        log.debug(f"step {number}: noisy {noisy} clean {clean} estimate {estimate} rest {estimate - clean} "
                  f"loss {loss.item():.5f} gradient norm {norm.item():.4f}")
        return loss.detach()

    @torch.inference_mode()
    def evaluate(self):
        self.model.eval()
        before = torch.cat([si_sdr(noisy, clean) for noisy, clean in self.valid_set])
        after = torch.cat([si_sdr(self.model(noisy), clean) for noisy, clean in self.valid_set])
        self.model.train()
        return before.mean().item(), after.mean().item()

    def fit(self):
        running = torch.zeros(())
        for number in range(1, self.args.steps + 1):
            running += self.step(number)
            if number % self.args.log_every == 0:
                log.info("step %5d  loss %.4f  lr %.2e", number, running.item() / self.args.log_every,
                         self.schedule.get_last_lr()[0])
                running.zero_()
            if number % self.args.eval_every == 0:
                before, after = self.evaluate()
                log.info("valid SI-SDR %.2f dB -> %.2f dB", before, after)
                if after > self.best:
                    self.best = after
                    torch.save({"model": self.model.state_dict(), "step": number}, self.args.out)
        log.info("best %.2f dB", self.best)


def main():
    args = parse()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    logging.basicConfig(level=logging.DEBUG if args.verbose else logging.INFO, format="%(message)s",
                        stream=sys.stdout)
    log.info("parameters %d", sum(p.numel() for p in MaskNet().parameters()))
    Trainer(args).fit()


if __name__ == "__main__":
    main()
