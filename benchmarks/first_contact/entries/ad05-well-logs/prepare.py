"""Synthetic well logs: twelve readings at every depth of some boreholes."""
import numpy as np
import pandas as pd

CURVES = ["GR", "RT", "RXO", "NPHI", "RHOB", "DT", "SP", "PEF", "CALI", "K", "TH", "U"]


def main():
    rng = np.random.default_rng(12)
    rows = []
    mixing = rng.normal(size=(6, 5, len(CURVES)))
    centre = rng.normal(scale=2.0, size=(6, len(CURVES)))
    for well in range(14):
        facies = np.repeat(rng.integers(0, 6, 150), rng.integers(5, 40, 150))[:2000]
        latent = rng.normal(size=(len(facies), 5))
        values = centre[facies] + np.einsum("nk,nkc->nc", np.tanh(latent), mixing[facies])
        values += 0.15 * rng.normal(size=values.shape)
        values[:, 1:3] = np.exp(0.6 * values[:, 1:3])
        frame = pd.DataFrame(values.astype(np.float32), columns=CURVES)
        frame.insert(0, "WELL", f"W{well:02d}")
        rows.append(frame)
    pd.concat(rows).to_csv("logs.csv", index=False, float_format="%.4f")


if __name__ == "__main__":
    main()
