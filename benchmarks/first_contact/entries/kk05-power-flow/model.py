import torch
import torch.nn as nn


class Interaction(nn.Module):
    """Message from the two ends of a line and its impedance, summed at the receiving bus; h is (bus, case, width)."""

    def __init__(self, width):
        super().__init__()
        self.ends = nn.Linear(width, 2 * width)
        self.line = nn.Linear(2, width)
        self.update = nn.Linear(2 * width, width)
        self.norm = nn.LayerNorm(width)

    def forward(self, h, sender, receiver, line):
        from_sender, at_receiver = self.ends(h).chunk(2, dim=-1)
        m = from_sender.index_select(0, sender).add_(at_receiver.index_select(0, receiver))
        m = m.add_(self.line(line).unsqueeze(1)).relu_()
        gathered = torch.zeros_like(h).index_add_(0, receiver, m)
        return h + self.norm(self.update(torch.cat([h, gathered], dim=-1)).relu_())


class PowerFlowNet(nn.Module):
    def __init__(self, inputs, sender, receiver, line, width=64, layers=6):
        super().__init__()
        self.encode = nn.Sequential(nn.Linear(inputs, width), nn.ReLU(), nn.Linear(width, width))
        self.layers = nn.ModuleList(Interaction(width) for _ in range(layers))
        self.decode = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 2))
        self.register_buffer("sender", sender)
        self.register_buffer("receiver", receiver)
        self.register_buffer("line", line)

    def forward(self, x):
        h = self.encode(x.transpose(0, 1).contiguous())
        for layer in self.layers:
            h = layer(h, self.sender, self.receiver, self.line)
        return self.decode(h).transpose(0, 1)
