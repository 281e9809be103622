"""Made-up tryptic peptides with intensities from a crude fragmentation rule."""
import csv
import os

import numpy as np

RESIDUES = "ACDEFGHIKLMNPQRSTVWYo"
FREQUENCY = np.array([8, 1.5, 5.5, 6.5, 4, 7, 2.2, 6, 0.5, 9.5, 1.8, 4, 4.8, 4, 0.5, 7, 5.5, 7, 1.2, 3, 0.6])
FREQUENCY = FREQUENCY / FREQUENCY.sum()


def make(n, rng, name, left, right):
    spectra = np.full((n, 29, 6), -1, np.float32)
    lengths = np.clip(rng.gamma(9, 1.5, n) + 2, 7, 26).astype(int)
    with open(f"data/{name}.csv", "w", newline="") as f:
        out = csv.writer(f)
        out.writerow(["sequence", "charge", "nce", "row"])
        for i, length in enumerate(lengths):
            codes = rng.choice(len(RESIDUES), length, p=FREQUENCY)
            codes[-1] = RESIDUES.index("K" if rng.random() < 0.5 else "R")
            charge = int(rng.choice([1, 2, 3, 4], p=[0.05, 0.6, 0.28, 0.07]))
            nce = int(rng.choice([20, 25, 28, 30, 35]))
            at = np.arange(1, length) / length
            bond = np.exp(left[codes[:-1]] + right[codes[1:]] - 3 * (at - 0.45) ** 2)
            for k in range(6):
                z, b_ion = k % 3 + 1, k >= 3
                if z > charge:
                    continue
                size = at if b_ion else 1 - at
                gain = (0.35 if b_ion else 1.0) * np.exp(-2 * (z - 1) + 1.5 * (z - 1) * size * charge / 2)
                level = bond * gain * np.exp(-abs(nce - 28) * (0.02 + 0.03 * b_ion))
                level *= np.exp(rng.normal(0, 0.25, length - 1))
                spectra[i, :length - 1, k] = level * (rng.random(length - 1) > 0.1)
            spectra[i, :length - 1] = np.where(spectra[i, :length - 1] < 0, -1, spectra[i, :length - 1] / max(spectra[i].max(), 1e-6))
            out.writerow(["".join(RESIDUES[c] for c in codes), charge, nce, i])
    np.save(f"data/{name}.npy", spectra)


if __name__ == "__main__":
    os.makedirs("data", exist_ok=True)
    rng = np.random.default_rng(21)
    left, right = rng.normal(0, 0.7, len(RESIDUES)), rng.normal(0, 0.7, len(RESIDUES))
    right[RESIDUES.index("P")] += 2.0
    make(22000, rng, "train", left, right)
    make(2000, rng, "val", left, right)
