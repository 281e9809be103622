"""Strikes on the gongs of four ensembles: sums of decaying partials, with a table of what was struck how."""
import numpy as np
import pandas as pd

rng = np.random.default_rng(88)
RATE, COUNT, SECONDS = 44100, 360, 0.8
t = np.arange(int(RATE * SECONDS)) / RATE
waves, rows = np.zeros((COUNT, len(t)), np.int16), []
gongs = [(rng.uniform(90, 500), rng.uniform(1.35, 2.9, 7)) for _ in range(24)]
for n in range(COUNT):
    gong = int(rng.integers(24))
    force, mallet = rng.uniform(0.3, 1.0), rng.choice(["soft", "hard", "bare"])
    base, ratios = gongs[gong]
    wave = np.zeros_like(t)
    for k, f in enumerate(base * np.cumprod(np.r_[1, ratios[:5] ** 0.5])):
        bright = {"soft": 0.4, "bare": 0.7, "hard": 0.95}[mallet] ** k
        wave += bright * np.exp(-t * (3 + k)) * np.sin(2 * np.pi * f * t * (1 + 0.004 * force * np.exp(-8 * t)) + rng.uniform(0, 6))
    wave += 0.02 * rng.standard_normal(len(t))
    waves[n] = wave / np.abs(wave).max() * force * 32000
    rows.append({"strike": f"S{n:05d}", "row": n, "gong": gong, "ensemble": gong // 6, "mallet": mallet, "force": round(force, 3),
                 "gain_db": round(rng.uniform(-6, 6), 1), "session": f"{1990 + gong % 5}-{n % 9}"})
np.save("strikes.npy", waves)
pd.DataFrame(rows).sample(frac=1, random_state=1).to_csv("strikes.csv", index=False)
