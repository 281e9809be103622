"""Writes made-up recipes (JSON lines) and the merges of a byte pair encoding to data/."""
import collections
import json
import pathlib
import random
import re

ROOT = pathlib.Path(__file__).parent / "data"
SYLLABLES = ["ba", "co", "du", "ri", "la", "mon", "ter", "sa", "pi", "nel", "gar", "lic", "to", "ma", "ver", "lon",
             "chi", "po", "rus", "fen", "bel", "zu", "cca", "shal", "lot", "on", "ion", "but", "milk", "corn", "er",
             "ing", "ed", "ish", "th", "yme", "sto", "ck", "gra", "in"]
TEMPLATES = [
    "Add {n} grams of {a} and {b} to the {c}, then stir for {n} minutes.",
    "Heat the {c} and cook the {a} until it is {d}.",
    "Mix {a} with {b}, {a2} and a little {d} {e}.",
    "Leave it in the {c} for {n} minutes; turn it once.",
    "Season with {e} and serve with {a}.",
    "Chop the {a}, peel the {b} and put both into a {d} {c}.",
]


def vocabulary(rng, n):
    words = set()
    while len(words) < n:
        words.add("".join(rng.choice(SYLLABLES) for _ in range(rng.choice([2, 2, 3, 3, 4]))))
    return sorted(words)


def recipe(rng, words):
    weights = [1 / (i + 3) for i in range(len(words))]
    steps = min(4 + int(rng.expovariate(1 / 3.5)), 16)
    title = " ".join(rng.choices(words, weights, k=rng.randint(2, 4))).title()
    lines = []
    for _ in range(steps):
        a, b, a2, c, d, e = rng.choices(words, weights, k=6)
        lines.append(rng.choice(TEMPLATES).format(n=rng.choice([5, 10, 15, 20, 30, 45, 100, 250]), a=a, b=b, a2=a2, c=c,
                                                  d=d, e=e))
    return {"title": title, "directions": lines}


def train_bpe(texts, merges):
    counts = collections.Counter(w for t in texts for w in re.findall(r" ?[A-Za-z]+| ?\d+|[^\w\s]|\n", t))
    words = {w: tuple(w) for w in counts}
    rules = []
    for _ in range(merges):
        pairs = collections.Counter()
        for w, parts in words.items():
            for pair in zip(parts, parts[1:]):
                pairs[pair] += counts[w]
        if not pairs:
            break
        best = max(sorted(pairs), key=pairs.get)
        rules.append(best)
        for w, parts in words.items():
            if best[0] in parts:
                out, i = [], 0
                while i < len(parts):
                    if parts[i:i + 2] == best:
                        out.append(parts[i] + parts[i + 1])
                        i += 2
                    else:
                        out.append(parts[i])
                        i += 1
                words[w] = tuple(out)
    return rules


if __name__ == "__main__":
    rng = random.Random(5)
    ROOT.mkdir(exist_ok=True)
    words = vocabulary(rng, 3000)
    for split, n in (("train", 4000), ("valid", 200)):
        rows = [recipe(rng, words) for _ in range(n)]
        with open(ROOT / f"{split}.jsonl", "w") as f:
            f.writelines(json.dumps(r) + "\n" for r in rows)
        if split == "train":
            texts = [r["title"] + "\n" + "\n".join(r["directions"]) for r in rows[:1500]]
            rules = train_bpe(texts, 700)
            with open(ROOT / "merges.txt", "w") as f:
                f.writelines(json.dumps(pair) + "\n" for pair in rules)
