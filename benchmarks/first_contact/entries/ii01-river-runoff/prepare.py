"""Write made-up basins in the layout of the CAMELS extract: one csv of daily forcings and discharge per basin, one csv of attributes."""
import argparse
from pathlib import Path

import numpy as np
import pandas as pd


def basin(rng, dates, attr):
    n = len(dates)
    doy = dates.day_of_year.values
    wet = rng.random(n) < 0.25 + 0.1 * np.sin(2 * np.pi * (doy + attr["phase"]) / 365)
    prcp = np.where(wet, rng.gamma(0.8, 8.0 * attr["p_mean"], n), 0.0)
    tmax = 15 - 12 * np.cos(2 * np.pi * (doy - 20) / 365) - attr["elev_mean"] / 300 + rng.normal(0, 2.5, n)
    tmin = tmax - rng.uniform(4, 12, n)
    srad = 250 - 150 * np.cos(2 * np.pi * (doy + 10) / 365) + rng.normal(0, 30, n)
    vp = 600 * np.exp(0.06 * tmin) + rng.normal(0, 30, n)
    snow, fast, slow = 0.0, 0.0, 20.0
    q = np.zeros(n)
    for t in range(n):
        if tmax[t] < 1.5:
            snow += prcp[t]
            rain = 0.0
        else:
            melt = min(snow, 2.5 * max(tmax[t] - 1.0, 0.0))
            snow -= melt
            rain = prcp[t] + melt
        loss = attr["pet"] * max(tmax[t], 0.0) / 30
        fast += (1 - attr["baseflow"]) * rain
        slow += max(attr["baseflow"] * rain - loss, -slow * 0.02)
        q[t] = 0.35 * fast + 0.015 * slow
        fast *= 0.65
        slow *= 0.985
    q *= np.exp(rng.normal(0, 0.05, n))
    return pd.DataFrame({"date": dates.strftime("%Y-%m-%d"), "prcp": prcp, "srad": srad, "tmax": tmax, "tmin": tmin, "vp": vp, "qobs": q})


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, default=Path("data"))
    parser.add_argument("--basins", type=int, default=24)
    parser.add_argument("--seed", type=int, default=11)
    args = parser.parse_args()
    rng = np.random.default_rng(args.seed)
    (args.out / "forcing").mkdir(parents=True, exist_ok=True)
    dates = pd.date_range("1999-10-01", "2008-09-30")
    rows = []
    for i in range(args.basins):
        attr = {"gauge_id": f"{1013500 + 617 * i:08d}", "p_mean": rng.uniform(0.5, 1.6), "pet": rng.uniform(1.5, 4), "elev_mean": rng.uniform(50, 2500),
                "slope_mean": rng.uniform(2, 120), "area_gages2": rng.lognormal(6, 1), "frac_forest": rng.random(), "clay_frac": rng.uniform(5, 45),
                "soil_porosity": rng.uniform(0.35, 0.55), "baseflow": rng.uniform(0.2, 0.7), "phase": rng.uniform(0, 365)}
        basin(rng, dates, attr).to_csv(args.out / "forcing" / f"{attr['gauge_id']}.csv", index=False, float_format="%.3f")
        attr.pop("phase")
        rows.append(attr)
    pd.DataFrame(rows).to_csv(args.out / "attributes.csv", index=False, float_format="%.4f")


if __name__ == "__main__":
    main()
