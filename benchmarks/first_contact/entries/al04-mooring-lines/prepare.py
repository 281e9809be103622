"""Synthetic stand-in for the turret campaign: vessel motions and line tensions at 2 Hz, one hour a record."""
import numpy as np

RATE = 2.0
HOUR = 7200
LINES = 8
RECORDS = 26
DOF = ("surge", "sway", "heave", "roll", "pitch", "yaw")


def jonswap(freq, height, period, gamma=2.8):
    peak = 1.0 / period
    width = np.where(freq <= peak, 0.07, 0.09)
    bump = gamma ** np.exp(-((freq - peak) ** 2) / (2 * width**2 * peak**2))
    shape = freq**-5.0 * np.exp(-1.25 * (peak / freq) ** 4) * bump
    df = freq[1] - freq[0]
    return shape * height**2 / 16 / (shape.sum() * df)


def record(rng):
    height, period = rng.uniform(2.0, 9.5), rng.uniform(7.5, 14.0)
    heading = rng.normal(0, 0.35)
    time = np.arange(HOUR) / RATE
    freq = np.linspace(0.04, 0.30, 90)
    amp = np.sqrt(2 * jonswap(freq, height, period) * (freq[1] - freq[0]))
    phase = rng.uniform(0, 2 * np.pi, freq.size)
    arg = 2 * np.pi * freq[:, None] * time[None] + phase[:, None]
    lag = np.array([0.5, 0.4, 0.0, 0.9, -0.6, 0.3])
    gain = np.array([0.6 * np.cos(heading), 0.6 * np.sin(heading), 0.8, 1.5 * np.sin(heading), 1.1, 0.25])
    motion = np.empty((6, HOUR))
    for k in range(6):
        response = gain[k] / (1 + (freq / (0.09 + 0.01 * k)) ** 4)
        motion[k] = (amp * response) @ np.cos(arg + lag[k])
    envelope = np.abs((amp @ np.exp(1j * arg)))
    slow = np.zeros((2, HOUR))
    for t in range(2, HOUR):
        push = np.array([np.cos(heading), np.sin(heading)]) * envelope[t] ** 2 * 0.004
        slow[:, t] = 1.985 * slow[:, t - 1] - 0.9872 * slow[:, t - 2] + push * 0.05 + rng.normal(0, 0.002, 2)
    motion[:2] += slow

    angle = np.arange(LINES) * 2 * np.pi / LINES
    stretch = np.cos(angle)[:, None] * motion[0] + np.sin(angle)[:, None] * motion[1]
    stretch = stretch + 0.25 * motion[2] + 0.05 * np.gradient(motion[2])
    tension = 900 + 60 * stretch + 3.0 * np.clip(stretch, 0, None) ** 2.4
    tension += 120 * np.gradient(motion[2]) * (1 + 0.1 * np.cos(angle)[:, None])
    tension += rng.normal(0, 6, tension.shape)
    return motion.T.astype(np.float32), np.clip(tension, 50, None).T.astype(np.float32)


if __name__ == "__main__":
    rng = np.random.default_rng(1974)
    pairs = [record(rng) for _ in range(RECORDS)]
    np.savez("campaign.npz", motion=np.stack([m for m, _ in pairs]), tension=np.stack([t for _, t in pairs]))
    print("campaign.npz:", RECORDS, "records")
