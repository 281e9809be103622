"""Fabric swatches: woven patterns in colour, drawn once and kept in memory."""
import torch


def draw(count, size, classes, seed):
    g = torch.Generator().manual_seed(seed)
    label = torch.randint(classes, (count,), generator=g)
    line = torch.arange(size, dtype=torch.float32)
    yy, xx = torch.meshgrid(line, line, indexing="ij")
    freq = 0.5 + 0.25 * (label % 4).float()
    angle = 0.6 * (label // 4).float() + 0.12 * torch.randn(count, generator=g)
    phase = 6.2832 * torch.rand(count, 2, generator=g)
    u = angle.cos().view(-1, 1, 1) * xx + angle.sin().view(-1, 1, 1) * yy
    v = -angle.sin().view(-1, 1, 1) * xx + angle.cos().view(-1, 1, 1) * yy
    f = freq.view(-1, 1, 1)
    warp = torch.sin(f * u + phase[:, 0].view(-1, 1, 1))
    weft = torch.sin(0.7 * f * v + phase[:, 1].view(-1, 1, 1))
    colours = 0.3 + 0.4 * torch.rand(count, 2, 3, 1, 1, generator=g)
    image = 0.5 + 0.25 * (colours[:, 0] * warp[:, None] + colours[:, 1] * weft[:, None])
    image = image + 0.06 * torch.randn(count, 3, size, size, generator=g)
    image = (image.clamp(0, 1) * 255).to(torch.uint8)
    return image.contiguous(memory_format=torch.channels_last), label


class Swatches:
    def __init__(self, count, size, classes, seed):
        self.images, self.labels = draw(count, size, classes, seed)

    def __len__(self):
        return len(self.labels)

    def get(self, index):
        return self.images[index].float().div_(255), self.labels[index]

    def batches(self, size, generator=None):
        order = torch.randperm(len(self), generator=generator) if generator else torch.arange(len(self))
        for index in order.split(size):
            yield self.get(index)
