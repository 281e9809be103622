"""Synthetic survey of dry-stone wall sections: stones, contacts, weather, and what moved.

    python prepare.py

writes walls.npz and weather.npz into this folder.
"""

import numpy as np

WALLS = 1600
SLOTS = 22
SITES = 5
HOURS = 8 * 365 * 24


def weather(rng):
    hour = np.arange(HOURS)
    records = np.empty((SITES, HOURS, 4), dtype=np.float32)
    for site in range(SITES):
        season = -7.0 * np.cos(2 * np.pi * hour / (365 * 24))
        day = -3.0 * np.cos(2 * np.pi * hour / 24)
        slow = np.repeat(rng.normal(0, 3.0, HOURS // 24), 24)
        temperature = 7.0 - 1.5 * site + season + day + slow + rng.normal(0, 0.7, HOURS)
        moisture = np.clip(0.55 - 0.02 * temperature + rng.normal(0, 0.12, HOURS), 0, 1)
        wind = rng.gamma(2.0, 2.0, HOURS)
        sun = np.clip(-np.cos(2 * np.pi * hour / 24), 0, None) * rng.uniform(0.2, 1.0, HOURS)
        records[site] = np.stack([temperature, moisture, wind, sun], axis=1)
    return records


def wall(rng, frost):
    count = int(rng.integers(19, SLOTS + 1))
    x = rng.uniform(0, 1.5, SLOTS)
    z = np.sort(rng.uniform(0, 1.4, SLOTS))
    size = rng.gamma(6.0, 0.03, (SLOTS, 3))
    density = rng.normal(2.6, 0.1, SLOTS)
    mass = size.prod(1) * density * 1000
    roundness = rng.beta(2, 5, SLOTS)
    tilt = rng.normal(0, 4.0, SLOTS)
    stones = np.column_stack([x, z, size, density, np.log(mass), roundness, tilt / 10])

    dx = x[:, None] - x[None]
    dz = z[:, None] - z[None]
    distance = np.sqrt(dx**2 + dz**2) + 1e-3
    reach = np.exp(-((distance / 0.5) ** 2)) * ~np.eye(SLOTS, dtype=bool)
    reach[count:] = 0
    reach[:, count:] = 0
    overlap = np.clip(0.45 - distance, 0, None)
    friction = np.clip(rng.normal(0.6, 0.08, (SLOTS, SLOTS)), 0.2, 1)
    friction = (friction + friction.T) / 2
    contact = np.stack([dx / distance, dz / distance, overlap * 4, friction, distance, reach], axis=-1)

    load = (reach * (dz < 0) * overlap * mass[None]).sum(1)
    hold = (reach * friction * overlap).sum(1)
    shift = frost * (0.5 + 2.0 * roundness) / (0.3 + hold) + 0.15 * np.abs(tilt) + 0.004 * load
    shift = shift + rng.normal(0, 0.15, SLOTS)
    present = np.arange(SLOTS) < count
    shift = np.log1p(np.clip(shift, 0, None)) * present
    bulge = (shift * z).sum() / (z * present).sum() + rng.normal(0, 0.03)
    return stones * present[:, None], contact, present, shift, bulge


def main():
    rng = np.random.default_rng(1783)
    records = weather(rng)
    rows = []
    for _ in range(WALLS):
        site = int(rng.integers(SITES))
        standing = int(rng.integers(9000, 22000))
        built = int(rng.integers(0, HOURS - standing))
        temperature = records[site, built:built + standing, 0]
        moisture = records[site, built:built + standing, 1]
        frost = 6.0 * float(np.mean((temperature < 0) * moisture))
        rows.append((*wall(rng, frost), site, built, built + standing))
    stones, contact, present, shift, bulge, site, built, surveyed = zip(*rows)
    np.savez(
        "walls.npz",
        stones=np.array(stones, dtype=np.float32),
        contact=np.array(contact, dtype=np.float16),
        present=np.array(present),
        shift=np.array(shift, dtype=np.float32),
        bulge=np.array(bulge, dtype=np.float32),
        site=np.array(site),
        built=np.array(built),
        surveyed=np.array(surveyed),
    )
    np.savez("weather.npz", records=records.astype(np.float16))


if __name__ == "__main__":
    main()
