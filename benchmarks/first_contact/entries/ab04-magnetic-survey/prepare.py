"""Simulate aeromagnetic surveys: buried dipoles seen from crooked flight lines."""
import numpy as np

SURVEYS = 40
STATIONS = 1500
LINES = 15


def survey(rng):
    per_line = STATIONS // LINES
    along = np.linspace(-1, 1, per_line)
    lines = np.linspace(-0.95, 0.95, LINES)
    x = (along[None] + rng.normal(0, 0.005, (LINES, per_line))).ravel()
    drift = rng.normal(0, 0.01, (LINES, per_line)).cumsum(axis=1) * 0.2
    y = (lines[:, None] + drift).ravel()
    field = np.zeros(STATIONS)
    for _ in range(rng.integers(3, 9)):
        cx, cy = rng.uniform(-1, 1, 2)
        depth = rng.uniform(0.1, 0.4)
        moment = rng.normal(0, 1, 3) * depth ** 3
        dx, dy, dz = x - cx, y - cy, np.full_like(x, depth)
        r2 = dx ** 2 + dy ** 2 + dz ** 2
        dot = moment[0] * dx + moment[1] * dy + moment[2] * dz
        field += 3 * dot * dz / r2 ** 2.5 - moment[2] / r2 ** 1.5
    field = (field - field.mean()) / field.std() + rng.normal(0, 0.02, STATIONS)
    return np.stack([x, y, field], axis=1)


if __name__ == "__main__":
    rng = np.random.default_rng(30)
    np.savez("surveys.npz", stations=np.stack([survey(rng) for _ in range(SURVEYS)]))
    print(f"wrote {SURVEYS} surveys of {STATIONS} stations")
