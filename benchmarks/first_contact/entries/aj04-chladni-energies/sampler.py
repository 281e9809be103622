import torch


class Reservoir:
    """Persistent chains (Tieleman 2008): every step takes a batch of them up again, a few start from noise."""

    def __init__(self, cfg, generator):
        self.cfg = cfg
        self.g = generator
        self.chains = torch.rand(cfg.reservoir, 1, cfg.size, cfg.size, generator=generator)

    def draw(self, n):
        where = torch.randint(0, len(self.chains), (n,), generator=self.g)
        x = self.chains[where]
        fresh = torch.rand(n, generator=self.g) < self.cfg.restart
        x[fresh] = torch.rand(int(fresh.sum()), *x.shape[1:], generator=self.g)
        return where, x

    def put(self, where, x):
        self.chains[where] = x


def langevin(energy, x, cfg, generator):
    energy.eval()
    x = x.clone().requires_grad_(True)
    for _ in range(cfg.langevin_steps):
        noise = torch.randn(x.shape, generator=generator)
        x.data.add_(noise, alpha=cfg.langevin_noise).clamp_(0, 1)
        energy(x).sum().backward()
        x.grad.data.clamp_(-cfg.grad_clamp, cfg.grad_clamp)
        x.data.add_(x.grad.data, alpha=-cfg.langevin_lr).clamp_(0, 1)
        x.grad.detach_()
        x.grad.zero_()
    energy.train()
    return x.detach()
