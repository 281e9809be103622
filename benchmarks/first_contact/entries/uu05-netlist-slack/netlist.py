"""Circuits as directed graphs without cycles."""
from dataclasses import dataclass

import numpy as np
import torch

GATE_KINDS = 10


@dataclass
class Circuit:
    gates: torch.Tensor      # kind of every gate
    drive: torch.Tensor      # drive strength
    arrival: torch.Tensor    # arrival time at the output, in 100 ps
    wires: torch.Tensor      # 2 x wires: from, to

    @property
    def size(self):
        return len(self.gates)

    def features(self):
        fanout = torch.bincount(self.wires[0], minlength=self.size).float()
        kind = torch.nn.functional.one_hot(self.gates, GATE_KINDS).float()
        return torch.cat([kind, self.drive.log2().unsqueeze(1), fanout.unsqueeze(1) / 4,
                          (fanout / self.drive).unsqueeze(1)], 1)


def load_circuits(path):
    data = np.load(path)
    circuits = []
    gate_end, wire_end = np.cumsum(data["gate_counts"]), np.cumsum(data["wire_counts"])
    for gates, wires, gate, wire in zip(data["gate_counts"], data["wire_counts"], gate_end, wire_end):
        here, there = slice(gate - gates, gate), slice(wire - wires, wire)
        circuits.append(Circuit(torch.from_numpy(data["gates"][here]), torch.from_numpy(data["drive"][here]),
                                torch.from_numpy(data["arrival"][here]), torch.from_numpy(data["wires"][:, there])))
    return circuits


def topological_order(size, wires):
    """Kahn: the gates so that every gate comes after those that drive it."""
    waiting = [0] * size
    followers = [[] for _ in range(size)]
    for source, sink in wires.t().tolist():
        followers[source].append(sink)
        waiting[sink] += 1
    ready = [gate for gate in range(size) if waiting[gate] == 0]
    order = []
    while ready:
        gate = ready.pop(0)
        order.append(gate)
        for sink in followers[gate]:
            waiting[sink] -= 1
            if waiting[sink] == 0:
                ready.append(sink)
    return order


def drivers(size, wires):
    """For every gate the gates that drive it."""
    incoming = []
    for gate in range(size):
        incoming.append(wires[0][wires[1] == gate])
    return incoming
