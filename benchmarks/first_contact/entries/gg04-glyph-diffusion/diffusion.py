import torch
from torch import nn


class Diffusion(nn.Module):
    def __init__(self, steps=1000):
        super().__init__()
        betas = torch.linspace(1e-4, 0.02, steps)
        alphas_bar = torch.cumprod(1 - betas, 0)
        self.steps = steps
        self.register_buffer("signal", alphas_bar.sqrt())
        self.register_buffer("noise", (1 - alphas_bar).sqrt())

    def add_noise(self, x, t, eps):
        return self.signal[t].view(-1, 1, 1, 1) * x + self.noise[t].view(-1, 1, 1, 1) * eps

    @torch.inference_mode()
    def ddim(self, model, labels, size, steps=20):
        x = torch.randn(len(labels), 1, size, size)
        times = torch.linspace(self.steps - 1, 0, steps).long().tolist()
        for now, then in zip(times, times[1:] + [None]):
            t = torch.full((len(labels),), now)
            eps = model(x, t, labels)
            clean = ((x - self.noise[now] * eps) / self.signal[now]).clamp(-1, 1)
            x = clean if then is None else self.signal[then] * clean + self.noise[then] * eps
        return x


class EMA:
    def __init__(self, model, shadow, decay=0.995):
        self.shadow = shadow
        self.shadow.load_state_dict(model.state_dict())
        self.shadow.eval().requires_grad_(False)
        self.source = list(model.parameters())
        self.target = list(shadow.parameters())
        self.decay = decay

    @torch.no_grad()
    def update(self):
        torch._foreach_lerp_(self.target, self.source, 1 - self.decay)
