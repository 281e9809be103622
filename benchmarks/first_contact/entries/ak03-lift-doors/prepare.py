"""Synthetic export of the door drives: one record per door cycle, as the gateway delivers it.

Writes data/cycles.csv (one row per cycle) and data/cycles.npz (one int16 array per cycle, 6 x samples).
"""

import zlib
from pathlib import Path

import numpy as np
import pandas as pd

FAULTS = ["none", "belt_slip", "sill_dirt", "roller_wear", "lock_contact", "light_curtain", "encoder_drift"]
CYCLES = 2400
UNITS = 320


def half_stroke(n, rng, slack):
    t = np.linspace(0, 1, n)
    velocity = np.sin(np.pi * t ** (1 + slack)) ** 1.5
    velocity += rng.normal(0, 0.01, n)
    return velocity


def cycle(rng, unit, fault, wear):
    n_open, n_close = rng.integers(140, 190, 2) + unit["slow"]
    dwell = rng.integers(30, 80)
    velocity = np.concatenate([
        half_stroke(n_open, rng, 0.3 * wear), np.zeros(dwell), -half_stroke(n_close, rng, 0.2 * wear)
    ])
    n = len(velocity)
    position = np.cumsum(velocity) / max(n_open, 1)
    accel = np.gradient(velocity)
    current = 0.4 * np.abs(velocity) + 6 * np.abs(accel) + unit["friction"] * (1 + wear) * (np.abs(velocity) > 0.05)
    noise = 0.02 * (1 + wear)
    if fault == "belt_slip":
        at = rng.integers(20, n_open - 20)
        current[at:at + 12] *= 0.4
    elif fault == "sill_dirt":
        where = rng.uniform(0.2, 0.6)
        current += 0.5 * np.exp(-((position - where) / 0.02) ** 2)
    elif fault == "roller_wear":
        current += 0.12 * np.sin(position * 90) * (np.abs(velocity) > 0.05)
    elif fault == "encoder_drift":
        position = position + np.linspace(0, 0.08, n)
    bus = 1.0 - 0.1 * current
    lock = (position < 0.02).astype(float)
    if fault == "lock_contact":
        lock *= rng.random(n) > 0.25
    curtain = np.ones(n)
    if fault == "light_curtain":
        for at in rng.integers(0, n - 8, 6):
            curtain[at:at + 5] = 0.0
    record = np.stack([current, position, velocity, bus, lock, curtain])
    record[:4] += rng.normal(0, noise, (4, n))
    return np.clip(record * 4000, -32767, 32767).astype(np.int16)


def main():
    rng = np.random.default_rng(4711)
    out = Path(__file__).parent / "data"
    out.mkdir(exist_ok=True)
    units = [
        {
            "id": f"LX-{rng.integers(10000, 99999)}-{zlib.crc32(bytes([i % 256, i // 256])) % 997:03d}",
            "panel": rng.choice(["2T", "2Z", "4Z", "3T"]),
            "controller": rng.choice(["DCU3", "DCU5", "VF6", "VF7", "AMD"]),
            "slow": int(rng.integers(0, 25)),
            "friction": rng.uniform(0.05, 0.25),
            "width": float(rng.choice([800, 900, 1100, 1400])),
            "commissioned": int(rng.integers(1998, 2024)),
        }
        for i in range(UNITS)
    ]
    rows, records = [], {}
    for i in range(CYCLES):
        unit = units[rng.integers(UNITS)]
        fault = FAULTS[rng.choice(len(FAULTS), p=[0.4, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1])]
        wear = float(rng.beta(2, 3))
        key = f"c{i:06d}"
        records[key] = cycle(rng, unit, fault, wear)
        rows.append({
            "cycle": key, "unit": unit["id"], "panel": unit["panel"], "controller": unit["controller"],
            "width_mm": unit["width"], "commissioned": unit["commissioned"],
            "shaft_temp": round(float(rng.normal(21, 5)), 1), "starts_24h": int(rng.gamma(4, 80)),
            "car_load_kg": round(float(rng.gamma(2, 90)), 0), "fault": fault, "wear": round(wear, 4),
        })
    pd.DataFrame(rows).to_csv(out / "cycles.csv", index=False)
    np.savez_compressed(out / "cycles.npz", **records)
    print(f"{CYCLES} cycles, {(out / 'cycles.npz').stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
