"""A network that follows the signal through the circuit."""
import torch
from torch import nn

from netlist import GATE_KINDS, drivers, topological_order


class TimingNet(nn.Module):
    """The state of a gate is computed from its own features and from the states of the gates that drive it."""

    def __init__(self, width=96):
        super().__init__()
        self.width = width
        self.gate = nn.Sequential(nn.Linear(GATE_KINDS + 3, width), nn.SiLU(), nn.Linear(width, width))
        self.message = nn.Sequential(nn.Linear(2 * width, width), nn.SiLU(), nn.Linear(width, width))
        self.update = nn.GRUCell(width, width)
        self.read = nn.Sequential(nn.Linear(width, width), nn.SiLU(), nn.Linear(width, 1))

    def forward(self, circuit):
        own = self.gate(circuit.features())
        order = topological_order(circuit.size, circuit.wires)
        incoming = drivers(circuit.size, circuit.wires)
        states = [None] * circuit.size
        for gate in order:
            x = own[gate]
            before = incoming[gate].tolist()
            if before:
                heads = torch.stack([states[k] for k in before])
                messages = self.message(torch.cat([heads, x.expand(len(before), -1)], 1))
                heard = messages.max(0).values
            else:
                heard = torch.zeros(self.width)
            states[gate] = self.update(x.unsqueeze(0), heard.unsqueeze(0)).squeeze(0)
        return self.read(torch.stack(states)).squeeze(1)
