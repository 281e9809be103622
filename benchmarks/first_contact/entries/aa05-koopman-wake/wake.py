"""Sensor records behind a row of cylinders: sums of travelling waves with slow amplitude changes."""
import torch


def records(runs, frames, sensors, generator, noise=0.02):
    place = torch.linspace(0, 6.2832, sensors)
    time = torch.arange(frames)[:, None] * 0.1
    out = torch.empty(runs, frames, sensors)
    for r in range(runs):
        a = 0.5 + torch.rand(4, generator=generator)
        phase = 6.2832 * torch.rand(4, generator=generator)
        base = 0.8 + 0.4 * torch.rand((), generator=generator)
        flow = torch.zeros(frames, sensors)
        for k in range(4):
            grow = 1 - torch.exp(-0.15 * (k + 1) * time)
            flow += a[k] / (k + 1) * grow * torch.sin((k + 1) * (place - base * time) + phase[k])
        out[r] = flow + 0.2 * flow ** 2
    out += noise * torch.randn(out.shape, generator=generator)
    return out


class Windows:
    """Every window of `length` frames of the given runs, addressed by one number."""

    def __init__(self, data, length):
        self.data = data.reshape(-1, data.shape[2])
        frames = data.shape[1]
        within = torch.arange(frames - length + 1)
        self.starts = (torch.arange(data.shape[0])[:, None] * frames + within).flatten()
        self.offsets = torch.arange(length)

    def __len__(self):
        return len(self.starts)

    def take(self, picks):
        return self.data[self.starts[picks][:, None] + self.offsets]
