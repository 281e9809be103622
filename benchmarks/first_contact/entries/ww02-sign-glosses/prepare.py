"""Makes a synthetic parallel corpus: sign-language glosses <tab> spoken-language sentence."""
import random

SYLLABLES = ["ka", "lo", "mi", "ren", "ta", "su", "vel", "no", "dri", "pa", "esh", "gon", "fi", "ur", "bal", "ze"]
ENDINGS = ["", "en", "t", "st", "er", "e"]
FUNCTION = ["der", "die", "das", "und", "im", "am", "mit", "auf", "von", "ist", "wird", "es", "noch", "auch"]


def main():
    rng = random.Random(4)
    stems = set()
    while len(stems) < 900:
        stems.add("".join(rng.choice(SYLLABLES) for _ in range(rng.randint(2, 4))))
    stems = sorted(stems)
    rng.shuffle(stems)
    weights = [1 / (rank + 12) for rank in range(len(stems))]
    for split, count in (("train", 3200), ("dev", 256)):
        with open(f"{split}.tsv", "w") as file:
            for _ in range(count):
                length = min(24, max(3, round(rng.lognormvariate(1.85, 0.4))))
                glosses = rng.choices(stems, weights, k=length)
                words = []
                for position, stem in enumerate(glosses):
                    if rng.random() < 0.35:
                        words.append(FUNCTION[(len(stem) + position) % len(FUNCTION)])
                    words.append(stem + ENDINGS[(position + length) % len(ENDINGS)])
                if length > 4 and rng.random() < 0.3:
                    words[1], words[2] = words[2], words[1]
                file.write(" ".join(g.upper() for g in glosses) + "\t" + " ".join(words) + " .\n")


if __name__ == "__main__":
    main()
