"""Simulated survey season: echograms, station covariates and catch profiles."""
import numpy as np

HAULS, BINS, FREQS, SPECIES, COVARIATES = 3600, 16, 24, 6, 12


def main():
    rng = np.random.default_rng(17)
    depth = np.linspace(0, 1, BINS)
    station = rng.normal(size=(HAULS, COVARIATES)).astype(np.float32)
    mix = rng.normal(size=(COVARIATES, SPECIES)) / np.sqrt(COVARIATES)
    centre = 1 / (1 + np.exp(-(station @ mix)))
    width = 0.12 + 0.1 * rng.random(SPECIES)
    profile = np.exp(-0.5 * ((depth[None, :, None] - centre[:, None, :]) / width) ** 2)
    biomass = np.exp(0.6 * rng.normal(size=(HAULS, 1, SPECIES))) * profile
    response = np.abs(rng.normal(size=(SPECIES, FREQS))) + 0.1
    sound = np.log1p(biomass @ response)
    sound += 0.08 * rng.normal(size=sound.shape)
    level = np.clip(sound * 40 + 20, 0, 255).astype(np.uint8)
    catch = np.log(biomass + 0.05) + 0.15 * rng.normal(size=biomass.shape)
    np.savez_compressed("season.npz", echogram=level, station=station, catch=catch.astype(np.float32))
    order = rng.permutation(HAULS)
    np.savez("split.npz", train=order[: HAULS - 400], valid=order[HAULS - 400:])


if __name__ == "__main__":
    main()
