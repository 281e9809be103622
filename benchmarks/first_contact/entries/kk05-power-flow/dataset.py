from pathlib import Path

import numpy as np
import torch


class PowerFlowCases:
    """All cases of one grid as tensors; node features are laid out (case, bus, feature)."""

    def __init__(self, folder):
        raw = np.load(Path(folder) / "cases.npz")
        p, q, vset = (torch.from_numpy(raw[k]) for k in ("p", "q", "vset"))
        buses = p.size(1)
        kind = torch.zeros(buses, 2)
        kind[raw["generators"], 0] = 1
        kind[0, 1] = 1
        scale = lambda v: (v - v.mean()) / v.std()
        known_q = q * (1 - kind[:, 0])
        self.inputs = torch.stack([scale(p), scale(known_q), (vset - 1) * 30, *(k.expand_as(p) for k in kind.T)], dim=-1)
        vm, va = torch.from_numpy(raw["vm"]), torch.from_numpy(raw["va"])
        self.centre = torch.stack([vm.mean(0), va.mean(0)], dim=-1)
        self.spread = torch.stack([vm.std(), va.std()])
        self.targets = (torch.stack([vm, va], dim=-1) - self.centre) / self.spread
        edges = torch.from_numpy(raw["edges"]).long()
        self.sender = torch.cat([edges[:, 0], edges[:, 1]])
        self.receiver = torch.cat([edges[:, 1], edges[:, 0]])
        line = torch.stack([scale(torch.from_numpy(raw["r"])), scale(torch.from_numpy(raw["x"]))], dim=-1)
        self.line = torch.cat([line, line])

    def split(self, held_out):
        return (self.inputs[held_out:], self.targets[held_out:]), (self.inputs[:held_out], self.targets[:held_out])

    def to_units(self, outputs):
        return outputs * self.spread + self.centre
