import numpy as np
import torch
from torch.utils.data import Dataset, Sampler


class WoodSpectra(Dataset):
    def __init__(self, spectra, site, noise=0.0):
        self.spectra, self.site, self.noise = spectra, site, noise
        self.rng = np.random.default_rng(4)

    def __len__(self):
        return len(self.site)

    def __getitem__(self, i):
        x = self.spectra[i]
        if self.noise:
            x = x * (1 + self.noise * self.rng.standard_normal(x.shape, dtype=np.float32))
        return torch.from_numpy(np.sqrt(np.maximum(x, 0))), int(self.site[i])


class SiteBatchSampler(Sampler):
    """Batches of P sites with K samples each."""

    def __init__(self, site, sites_per_batch, samples_per_site, batches, seed=0):
        self.site = site
        self.all_sites = sorted(set(site.tolist()))
        self.p, self.k, self.batches = sites_per_batch, samples_per_site, batches
        self.rng = np.random.default_rng(seed)

    def __len__(self):
        return self.batches

    def __iter__(self):
        for _ in range(self.batches):
            batch = []
            for s in self.rng.choice(self.all_sites, self.p, replace=False):
                pool = [i for i in range(len(self.site)) if self.site[i] == s]
                batch.extend(self.rng.choice(pool, self.k, replace=len(pool) < self.k).tolist())
            yield batch


def load_wood(path, held_sites=20):
    with np.load(path) as archive:
        spectra, site = archive["spectra"].astype(np.float32), archive["site"]
    held = site >= site.max() + 1 - held_sites
    return (spectra[~held], site[~held]), (spectra[held], site[held])
