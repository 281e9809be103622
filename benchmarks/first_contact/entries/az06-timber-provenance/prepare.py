"""Mass spectra of wood from made-up forests: peaks of the species, shifted in height by soil and year."""
import numpy as np

BINS, SITES = 1024, 120


def main():
    rng = np.random.default_rng(61)
    species = np.abs(rng.standard_normal((6, BINS))) * (rng.random((6, BINS)) < 0.08)
    spectra, site = [], []
    for s in range(SITES):
        n = int(rng.integers(35, 70))
        kind = species[s % 6]
        soil = 1 + 0.35 * rng.standard_normal(BINS) * (rng.random(BINS) < 0.2)
        x = kind * soil * rng.gamma(9, 1 / 9, (n, BINS)) + 0.02 * rng.random((n, BINS))
        spectra.append(x / x.sum(1, keepdims=True) * 100)
        site += [s] * n
    np.savez("wood.npz", spectra=np.concatenate(spectra).astype(np.float16), site=np.array(site))


if __name__ == "__main__":
    main()
