"""Synthetic hourly use of the docks of a bike-share scheme: docks.csv (station, time, bikes, trips and weather)."""
import numpy as np
import pandas as pd

STATIONS, HOURS = 24, 24 * 70


def main():
    rng = np.random.default_rng(12)
    times = pd.date_range("2025-03-03", periods=HOURS, freq="h")
    hour = np.arange(HOURS) % 24
    day = np.arange(HOURS) // 24
    temperature = 12 + 6 * np.sin((hour - 9) / 24 * 6.283) + 5 * np.sin(day / 70 * 3.1) + rng.normal(0, 0.8, HOURS)
    rain = np.maximum(0, rng.normal(-1.5, 1.2, HOURS))
    wind = np.abs(rng.normal(4, 2, HOURS))
    frames = []
    for station in range(STATIONS):
        capacity = int(rng.integers(12, 41))
        phase = rng.uniform(0, 24)
        commute = np.exp(-((hour - 8) / 1.8) ** 2) * rng.uniform(0.2, 1) - np.exp(-((hour - 17) / 2.2) ** 2) * rng.uniform(0.2, 1)
        weekend = (day % 7 >= 5).astype(float)
        level = 0.5 + 0.35 * commute * (1 - 0.8 * weekend) + 0.1 * np.sin((hour - phase) / 24 * 6.283) + 0.04 * rain
        noise = np.zeros(HOURS)
        for i in range(1, HOURS):
            noise[i] = 0.8 * noise[i - 1] + rng.normal(0, 0.04)
        bikes = np.clip((level + noise) * capacity, 0, capacity).round()
        frames.append(pd.DataFrame({
            "station": station, "time": times, "capacity": capacity, "bikes": bikes,
            "departures": rng.poisson(2 + 3 * np.abs(commute)), "arrivals": rng.poisson(2 + 3 * np.abs(commute)),
            "temperature": temperature.round(1), "rain": rain.round(2), "wind": wind.round(1),
        }))
    pd.concat(frames).to_csv("docks.csv", index=False)


if __name__ == "__main__":
    main()
