"""Tracer fields carried about by a steady flow on a periodic square (spectral scheme)."""
import math

import torch


def smooth_noise(count, size, power, generator):
    k = torch.fft.fftfreq(size, 1 / size)
    radius = torch.sqrt(k[:, None] ** 2 + k[None, : size // 2 + 1].abs() ** 2)
    radius[0, 0] = 1.0
    noise = torch.fft.rfft2(torch.randn(count, size, size, generator=generator))
    field = torch.fft.irfft2(noise * radius.pow(-power), s=(size, size))
    return field / field.flatten(1).std(dim=1)[:, None, None]


@torch.no_grad()
def simulate(count, steps, size, seed, substeps=6, dt=0.01, viscosity=2e-4):
    """Returns (count, steps, 3, size, size): the tracer and the two components of the flow."""
    generator = torch.Generator().manual_seed(seed)
    k = 2 * math.pi * torch.fft.fftfreq(size, 1 / size)
    kx, ky = k[:, None], k[None, : size // 2 + 1].clone()
    ky[0, -1] = ky[0, -1].abs()
    laplace = -(kx ** 2 + ky ** 2)
    stream = torch.fft.rfft2(0.006 * smooth_noise(count, size, 2.5, generator))
    u = torch.fft.irfft2(1j * ky * stream, s=(size, size))
    v = torch.fft.irfft2(-1j * kx * stream, s=(size, size))
    tracer = smooth_noise(count, size, 2.0, generator)
    frames = []
    damping = torch.exp(viscosity * laplace * dt)
    for _ in range(steps):
        frames.append(torch.stack([tracer, u, v], dim=1))
        for _ in range(substeps):
            spectrum = torch.fft.rfft2(tracer)
            gx = torch.fft.irfft2(1j * kx * spectrum, s=(size, size))
            gy = torch.fft.irfft2(1j * ky * spectrum, s=(size, size))
            middle = tracer - 0.5 * dt * (u * gx + v * gy)
            spectrum = torch.fft.rfft2(middle)
            gx = torch.fft.irfft2(1j * kx * spectrum, s=(size, size))
            gy = torch.fft.irfft2(1j * ky * spectrum, s=(size, size))
            tracer = tracer - dt * (u * gx + v * gy)
            tracer = torch.fft.irfft2(torch.fft.rfft2(tracer) * damping, s=(size, size))
    return torch.stack(frames, dim=1)


class Pairs:
    """Batches of (state now, tracer one frame later), each rolled by a random offset."""

    def __init__(self, frames, batch_size, seed):
        self.frames, self.batch_size = frames, batch_size
        self.generator = torch.Generator().manual_seed(seed)

    def batch(self):
        count, steps = self.frames.shape[:2]
        which = torch.randint(count, (self.batch_size,), generator=self.generator)
        when = torch.randint(steps - 1, (self.batch_size,), generator=self.generator)
        now, after = self.frames[which, when], self.frames[which, when + 1, :1]
        size = self.frames.shape[-1]
        shift = torch.randint(size, (2,), generator=self.generator).tolist()
        return now.roll(shift, dims=(2, 3)), after.roll(shift, dims=(2, 3))
