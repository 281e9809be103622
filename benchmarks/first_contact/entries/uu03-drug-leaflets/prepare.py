"""Makes made-up package leaflets (leaflets.csv), their vocabulary and the weights of a sentence encoder (encoder.pt)."""
import csv
import json

import numpy as np
import torch

from encoder import SentenceEncoder

SYSTEMS = ["cardiac", "gastric", "skin", "nervous", "respiratory", "renal", "hepatic", "none"]


def word(rng):
    return "".join(rng.choice(list("bdfglmnprst")) + rng.choice(list("aeiou")) for _ in range(rng.integers(2, 5)))


def main():
    rng = np.random.default_rng(12)
    words = []
    while len(words) < 3500:
        new = word(rng)
        words.append(new)
        words = words if len(words) % 500 else sorted(set(words))
    words = sorted(set(words))
    frequency = 1.0 / (np.arange(len(words)) + 8.0)
    frequency = rng.permutation(frequency / frequency.sum())
    topical = [rng.choice(len(words), 60, replace=False) for _ in SYSTEMS]

    with open("leaflets.csv", "w", newline="") as f:
        writer = csv.writer(f)
        writer.writerow(["split", "system", "sentence"])
        for number in range(2400):
            system = int(rng.integers(len(SYSTEMS)))
            length = int(np.clip(rng.lognormal(3.0, 0.45), 5, 120))
            picks = rng.choice(len(words), length, p=frequency)
            about = rng.random(length) < 0.2
            picks[about] = rng.choice(topical[system], about.sum())
            split = "train" if number < 1920 else "dev"
            writer.writerow([split, SYSTEMS[system], " ".join(words[k] for k in picks)])

    with open("vocabulary.json", "w") as f:
        json.dump(["<pad>", "<unk>", "<cls>", "<sep>"] + words, f)
    torch.manual_seed(5)
    encoder = SentenceEncoder(len(words) + 4)
    torch.save({"config": encoder.config, "state": encoder.state_dict()}, "encoder.pt")


if __name__ == "__main__":
    main()
