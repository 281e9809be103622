"""Activation statistics, to see dead units and exploding layers early."""
from collections import defaultdict

import torch


class ActivationMonitor:
    def __init__(self, model, kinds, keep=200):
        self.keep = keep
        self.log = defaultdict(list)
        self.handles = [m.register_forward_hook(self._hook(name))
                        for name, m in model.named_modules() if isinstance(m, kinds)]

    def _hook(self, name):
        def record(module, inputs, output):
            if not module.training:
                return
            with torch.no_grad():
                flat = output.detach().flatten()
                low, mid, high = torch.quantile(flat[::3], torch.tensor([0.05, 0.5, 0.95])).tolist()
                dead = (output <= 0).all(0).float().mean().item()
                row = dict(mean=flat.mean().item(), std=flat.std().item(),
                           low=low, mid=mid, high=high, dead=dead)
            rows = self.log[name]
            rows.append(row)
            del rows[:-self.keep]
        return record

    def report(self):
        for name, rows in self.log.items():
            last = rows[-1]
            print("   " + name + "  " + "  ".join(f"{k} {v:+.3f}" for k, v in last.items()))
