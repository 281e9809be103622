"""Synthetic flight-recorder traces: gliders circling through drifting thermals."""
import numpy as np
import torch
from torch.utils.data import Dataset

CHANNELS = ("vario", "netto", "ias", "altitude", "bank", "pitch",
            "yaw_rate", "roll_rate", "pitch_rate", "ax", "ay", "az", "slip",
            "static", "pitot", "oat", "humidity", "elevator", "aileron", "rudder")


def instrument_noise(seed=3):
    """Covariance of the instruments, from the bench calibration."""
    rng = np.random.default_rng(seed)
    n = len(CHANNELS)
    mix = rng.normal(0, 0.12, (n, n))
    cov = mix @ mix.T + np.diag(rng.uniform(0.05, 0.2, n))
    return cov.astype(np.float32)


def simulate(n, length, seed):
    rng = np.random.default_rng(seed)
    chan = len(CHANNELS)
    mode = rng.integers(0, 3, (n, length // 10 + 1)).repeat(10, axis=1)[:, :length + 1]
    lift = np.array([2.2, -1.1, 0.1])[mode]
    phase = np.cumsum(np.where(mode == 0, 0.35, 0.02) + rng.normal(0, 0.02, mode.shape), axis=1)
    strength = rng.gamma(4.0, 0.25, (n, 1))
    vario = np.empty((n, length + 1))
    state = np.zeros(n)
    for k in range(length + 1):
        state = 0.8 * state + 0.2 * lift[:, k] * strength[:, 0]
        vario[:, k] = state
    base = np.stack([vario, lift * strength, np.sin(phase), np.cumsum(vario, 1) * 0.05, np.cos(phase)], -1)
    loading = np.random.default_rng(11).normal(0, 0.6, (base.shape[-1], chan))
    clean = np.tanh(base @ loading)
    chol = np.linalg.cholesky(instrument_noise())
    noisy = clean + rng.normal(0, 1, clean.shape) @ chol.T
    return noisy.astype(np.float32), mode.astype(np.int64)


class FlightTraces(Dataset):
    def __init__(self, n, length, seed):
        trace, mode = simulate(n, length, seed)
        self.trace = torch.from_numpy(trace)
        self.mode = torch.from_numpy(mode)

    def __len__(self):
        return len(self.trace)

    def __getitem__(self, i):
        return self.trace[i, :-1], self.trace[i, 1:], self.mode[i, 1:]
