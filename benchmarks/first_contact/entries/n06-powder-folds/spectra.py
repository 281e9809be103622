"""Near-infrared spectra of powders: bands of six components, scatter, baseline, noise."""
import torch


def draw(samples, points, seed):
    g = torch.Generator().manual_seed(seed)
    axis = torch.linspace(0, 1, points)
    components = torch.zeros(6, points)
    for c in range(6):
        for _ in range(5):
            centre, width, height = torch.rand(3, generator=g).tolist()
            components[c] += (0.2 + height) * torch.exp(-0.5 * ((axis - centre) / (0.01 + 0.04 * width)) ** 2)
    share = torch.distributions.Dirichlet(torch.full((6,), 1.3))
    torch.manual_seed(seed)
    amounts = share.sample((samples,))
    absorbance = amounts @ components
    absorbance = absorbance + 0.15 * (amounts[:, :3] * amounts[:, 3:]) @ components[:3]
    path = 0.8 + 0.4 * torch.rand(samples, 1, generator=g)
    tilt = 0.3 * torch.randn(samples, 1, generator=g) * axis + 0.2 * torch.randn(samples, 1, generator=g)
    noise = 0.01 * torch.randn(samples, points, generator=g)
    return path * absorbance + tilt + noise, amounts[:, :3]


def normal_variate(x):
    """Each spectrum with mean zero and deviation one, then its first difference."""
    x = (x - x.mean(dim=1, keepdim=True)) / x.std(dim=1, keepdim=True)
    return torch.cat([x, 8 * (x[:, 1:] - x[:, :-1])], dim=1)


class Scaler:
    def __init__(self, x):
        self.mean, self.deviation = x.mean(dim=0), x.std(dim=0).clamp_min(1e-6)

    def __call__(self, x):
        return (x - self.mean) / self.deviation

    def back(self, x):
        return x * self.deviation + self.mean
