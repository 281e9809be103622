"""Field and farm names with the tongue that they were coined in, as hashed character n-grams, held flat."""
import zlib

import numpy as np
import torch

PARTS = {
    "brythonic": (["pen", "tre", "caer", "aber", "lan", "pol", "ros", "bod"], ["gwyn", "glas", "mor", "coed", "du", "vean", "hir", "las"]),
    "norse": (["ulf", "grim", "ketil", "thor", "svein", "orm", "hald", "ask"], ["by", "thwaite", "thorpe", "toft", "gill", "fell", "beck", "garth"]),
    "saxon": (["ac", "beor", "cild", "east", "hreod", "mapel", "stan", "wul"], ["ton", "ham", "leah", "worth", "feld", "ingas", "stede", "burna"]),
    "french": (["beau", "mal", "grand", "saint", "bel", "haut", "mont", "fri"], ["vale", "lieu", "pre", "voir", "repair", "mont", "clere", "court"]),
    "gaelic": (["bal", "kil", "dun", "inch", "auch", "ard", "drum", "loch"], ["more", "beg", "ross", "nan", "gowan", "roy", "derg", "ban"]),
}
TONGUES = tuple(PARTS)
BUCKETS = 12_000


def worn(word, rng):
    letters = list(word)
    for _ in range(rng.integers(0, 3)):
        at = rng.integers(len(letters))
        if rng.random() < 0.5 and len(letters) > 4:
            del letters[at]
        else:
            letters[at] = "aeiouylnrst"[rng.integers(11)]
    return "".join(letters)


def grams(name):
    padded = f"<{name}>"
    return [zlib.crc32(padded[i:i + n].encode()) % BUCKETS for n in (2, 3, 4, 5) for i in range(len(padded) - n + 1)]


class NameBook:
    def __init__(self, count, seed):
        rng = np.random.default_rng(seed)
        kinds = rng.integers(0, len(TONGUES), count)
        flat, sizes = [], []
        for kind in kinds:
            first, last = PARTS[TONGUES[kind]]
            if rng.random() < 0.15:
                last = PARTS[TONGUES[rng.integers(len(TONGUES))]][1]
            found = grams(worn(first[rng.integers(len(first))] + last[rng.integers(len(last))], rng))
            flat.extend(found)
            sizes.append(len(found))
        self.flat = torch.tensor(flat)
        self.sizes = torch.tensor(sizes)
        self.starts = self.sizes.cumsum(0) - self.sizes
        self.kinds = torch.from_numpy(kinds)
        centre = np.array([[-4.5, 51.5], [-1.2, 54.2], [0.2, 52.0], [-1.5, 50.9], [-4.5, 57.0]])[kinds]
        self.places = torch.from_numpy((centre + rng.normal(0, 0.8, (count, 2)) + [2.3, -53.1]).astype(np.float32))

    def batch(self, rows):
        sizes = self.sizes[rows]
        offsets = sizes.cumsum(0) - sizes
        within = torch.arange(int(sizes.sum())) - offsets.repeat_interleave(sizes)
        return self.flat[self.starts[rows].repeat_interleave(sizes) + within], offsets, self.kinds[rows], self.places[rows]
