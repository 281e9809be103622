"""Integrates a toy atmosphere (advected, forced and coupled fields on a latitude-longitude grid) and stores six-hourly states."""
from pathlib import Path

import numpy as np

NAMES = ["z500", "t850", "u10", "v10", "q700", "t2m", "msl", "u850"]
H, W = 32, 64


def smooth_noise(rng, shape, scale):
    ky, kx = np.fft.fftfreq(H)[:, None], np.fft.rfftfreq(W)[None]
    damp = np.exp(-((kx ** 2 + ky ** 2) * scale ** 2))
    x = np.fft.irfft2(np.fft.rfft2(rng.normal(size=(*shape, H, W))) * damp, s=(H, W))
    return x / x.std((-2, -1), keepdims=True)


def main():
    rng = np.random.default_rng(12)
    steps, c = 2200, len(NAMES)
    lat = np.linspace(-87.2, 87.2, H)
    jet = (0.9 * np.cos(np.deg2rad(lat)) * (1 + 0.8 * np.cos(np.deg2rad(4 * lat))))
    mixing = np.eye(c) * 0.985 + rng.normal(0, 0.012, (c, c))
    orography = smooth_noise(rng, (), 6)
    kx = np.fft.rfftfreq(W) * 2 * np.pi
    ky = np.fft.fftfreq(H)[:, None] * 2 * np.pi
    diffusion = np.exp(-0.06 * (kx[None] ** 2 + ky ** 2))
    state = smooth_noise(rng, (c,), 5)
    out = np.empty((steps, c, H, W), np.float32)
    for t in range(-50, steps):
        shift = np.exp(-1j * kx[None] * (jet[:, None] * (1 + 0.25 * np.sin(2 * np.pi * t / 1460))))
        state = np.fft.irfft(np.fft.rfft(state, axis=-1) * shift, n=W, axis=-1)
        state = np.fft.irfft2(np.fft.rfft2(state) * diffusion, s=(H, W))
        state = np.einsum("dc,chw->dhw", mixing, state)
        state = state + 0.03 * np.tanh(state[[1, 0, 3, 2, 5, 4, 7, 6]] * orography)
        state = state + 0.12 * smooth_noise(rng, (c,), 4)
        state /= max(1.0, state.std() / 1.1)
        if t >= 0:
            out[t] = state
    scale = np.array([3300, 15, 5.5, 4.7, 0.0025, 21, 1300, 8])[:, None, None]
    offset = np.array([54000, 275, 0, 0, 0.003, 279, 101000, 1])[:, None, None]
    root = Path("data/reanalysis")
    root.mkdir(parents=True, exist_ok=True)
    np.save(root / "states.npy", (out * scale + offset).astype(np.float32))
    np.savez(root / "grid.npz", lat=lat, names=np.array(NAMES), orography=orography.astype(np.float32))


if __name__ == "__main__":
    main()
