"""Ten-minute log of four greenhouse compartments."""
from pathlib import Path

import numpy as np
import pandas as pd

ROOT = Path(__file__).parent / "data"


def main():
    rng = np.random.default_rng(4)
    ROOT.mkdir(exist_ok=True)
    n = 12000
    stamp = pd.date_range("2024-01-01", periods=n, freq="10min")
    hour = stamp.hour + stamp.minute / 60
    sun = np.clip(np.sin((hour - 6) / 12 * np.pi), 0, None) * (600 + 200 * np.sin(np.arange(n) / 5000))
    outside = 10 + 6 * np.sin((hour - 9) / 24 * 2 * np.pi) + np.cumsum(rng.normal(0, 0.05, n)) * 0.3
    for c in range(4):
        vent = np.clip(np.cumsum(rng.normal(0, 0.03, n)) % 2 - 0.5, 0, 1)
        heat = np.clip(18 - outside + rng.normal(0, 1, n), 0, None)
        temp, hum, co2 = np.empty(n), np.empty(n), np.empty(n)
        t, h, g = 18.0, 75.0, 600.0
        for i in range(n):
            t += 0.08 * (outside[i] - t) * (0.3 + vent[i]) + 0.003 * sun[i] / 2 + 0.06 * heat[i] + rng.normal(0, 0.05)
            h += 0.1 * (70 - h) + 0.004 * sun[i] - 4 * vent[i] * 0.3 + rng.normal(0, 0.3)
            g += 0.1 * (450 - g) * vent[i] + 8 - 0.02 * sun[i] + rng.normal(0, 3)
            g = max(g, 250)
            temp[i], hum[i], co2[i] = t, h, g
        pd.DataFrame({
            "time": stamp, "temp": temp.round(2), "humidity": hum.round(1), "co2": co2.round(0),
            "sun": sun.round(1), "outside": outside.round(2), "vent": vent.round(2), "heating": heat.round(2),
        }).to_csv(ROOT / f"compartment_{c}.csv", index=False)


if __name__ == "__main__":
    main()
