"""Writes data/load.csv: hourly load of twenty zones with temperatures, two years."""
from pathlib import Path

import numpy as np
import pandas as pd

ZONES = 20


def main():
    rng = np.random.default_rng(7)
    stamps = pd.date_range("2022-01-01", "2023-12-31 23:00", freq="h")
    hours = len(stamps)
    day = np.arange(hours) / 24.0
    frame = {"timestamp": stamps}
    weekend = (stamps.day_of_week >= 5).astype(float)
    holiday = np.zeros(hours)
    for start in rng.choice(hours // 24, size=22, replace=False):
        holiday[start * 24:(start + 1) * 24] = 1
    frame["holiday"] = holiday.astype(int)
    season = -np.cos(2 * np.pi * (day - 20) / 365.25)
    weather = np.zeros(hours)
    for i in range(1, hours):
        weather[i] = 0.995 * weather[i - 1] + rng.normal(0, 0.25)
    for station in range(4):
        local = 12 + 9 * season + weather + 4 * np.sin(2 * np.pi * (day - 0.4)) + rng.normal(0, 0.4, hours) + station
        frame[f"temp_{station}"] = local.round(2)
    for zone in range(ZONES):
        base = rng.uniform(400, 2500)
        peak = rng.uniform(0.1, 0.3)
        phase = rng.uniform(0.6, 0.85)
        temp = frame[f"temp_{zone % 4}"]
        heat = rng.uniform(0.004, 0.012) * np.maximum(0, 15 - temp)
        cool = rng.uniform(0.004, 0.02) * np.maximum(0, temp - 21)
        shape = peak * np.cos(2 * np.pi * (day - phase)) + 0.5 * peak * np.cos(4 * np.pi * (day - phase / 2))
        drift = np.cumsum(rng.normal(0, 0.0008, hours))
        load = base * (1 + shape + heat + cool - 0.12 * weekend - 0.1 * holiday + drift + rng.normal(0, 0.012, hours))
        frame[f"zone_{zone:02d}"] = load.round(1)
    Path("data").mkdir(exist_ok=True)
    pd.DataFrame(frame).to_csv("data/load.csv", index=False)


if __name__ == "__main__":
    main()
