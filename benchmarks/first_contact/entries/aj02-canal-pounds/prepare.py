"""Two years of a canal: 40 pounds between locks, levels every quarter of an hour, with sluices and boats."""
import numpy as np

POUNDS = 40
STEPS = 2 * 365 * 96


def main():
    rng = np.random.default_rng(77)
    area = rng.uniform(2.0, 9.0, POUNDS)
    weir = rng.uniform(0.15, 0.35, POUNDS)
    leak = rng.uniform(0.002, 0.006, POUNDS)
    hour = np.arange(STEPS) / 4.0
    daylight = np.clip(np.sin(2 * np.pi * (hour % 24 - 6) / 24), 0, None)
    summer = 0.5 - 0.5 * np.cos(2 * np.pi * hour / (24 * 365))
    rain = np.zeros(STEPS)
    wet = 0.0
    for t in range(STEPS):
        wet = 0.97 * wet + (rng.gamma(0.5, 0.4) if rng.random() < 0.015 else 0.0)
        rain[t] = wet
    boats = rng.poisson((0.05 + 1.2 * daylight * summer)[:, None] * rng.uniform(0.3, 1.0, POUNDS + 1))
    gate = np.clip(0.4 + 0.3 * np.sin(hour / 37.0)[:, None] + 0.05 * rng.normal(size=(STEPS, POUNDS + 1)), 0, 1)
    level = np.zeros((STEPS, POUNDS))
    now = rng.normal(0, 0.05, POUNDS)
    for t in range(STEPS):
        level[t] = now
        over = np.clip(now + 0.1, 0, None) ** 1.5 * weir
        down = np.concatenate([[0.03 + 0.02 * rain[t]], over]) * (0.5 + gate[t]) + 0.012 * boats[t]
        now = now + (down[:-1] - down[1:] + 0.02 * rain[t] - leak) / area
        now = now + rng.normal(0, 0.0006, POUNDS)
    np.savez(
        "canal.npz",
        level=(level - level.mean(0)).astype(np.float16),
        gate=gate.astype(np.float16)[::1],
        boats=boats.astype(np.uint8),
        rain=rain.astype(np.float32),
        area=area.astype(np.float32),
    )


if __name__ == "__main__":
    main()
