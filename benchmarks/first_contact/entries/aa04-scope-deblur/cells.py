import torch


def filaments(count, size, generator):
    """Clean images: bent filaments and a few bright spots."""
    images = torch.zeros(count, 1, size, size)
    t = torch.linspace(0, 1, 3 * size)
    for i in range(count):
        for _ in range(10):
            a, b, bend, phase = torch.rand(4, generator=generator).tolist()
            angle = 6.28 * phase
            x = a * size + (t - 0.5) * size * torch.cos(torch.tensor(angle)) + 12 * bend * torch.sin(6 * t)
            y = b * size + (t - 0.5) * size * torch.sin(torch.tensor(angle)) + 12 * bend * torch.cos(5 * t)
            keep = (x >= 0) & (x < size) & (y >= 0) & (y < size)
            images[i, 0, y[keep].long(), x[keep].long()] += 0.8
        spots = torch.randint(size, (2, 25), generator=generator)
        images[i, 0, spots[0], spots[1]] += 3.0
    soft = torch.tensor([[1.0, 2, 1], [2, 4, 2], [1, 2, 1]]).view(1, 1, 3, 3) / 16
    return torch.nn.functional.conv2d(images, soft, padding=1)


class Slides:
    def __init__(self, images, microscope, generator):
        self.images = images
        self.microscope = microscope
        self.generator = generator

    def draw(self, count):
        pick = torch.randint(len(self.images), (count,), generator=self.generator)
        clean = self.images[pick]
        if torch.rand((), generator=self.generator) < 0.5:
            clean = clean.flip(3)
        return clean, self.microscope.expose(clean)
