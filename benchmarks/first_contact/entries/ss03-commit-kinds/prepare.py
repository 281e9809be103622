"""Synthetic commit messages with their kind (feat, fix, docs, ...) and a word-piece vocabulary."""
import json
import random
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parent / "data"
KINDS = ["feat", "fix", "docs", "refactor", "test", "perf", "chore", "revert"]
SYL = ["ra", "con", "tex", "ser", "lo", "ad", "er", "ing", "pre", "cache", "ten", "dle", "mo", "ver", "par", "se",
       "bin", "di", "stat", "ex", "port", "im", "re", "que", "st", "han", "ut", "il", "con", "fig"]


def main():
    rng = random.Random(8)
    ROOT.mkdir(exist_ok=True)
    words = ["".join(rng.choice(SYL) for _ in range(rng.randint(1, 4))) for _ in range(3000)]
    topical = {k: rng.sample(words, 120) for k in KINDS}
    rows = []
    for _ in range(12000):
        kind = rng.choice(KINDS)
        n = min(60, max(4, int(rng.lognormvariate(2.1, 0.55))))
        text = []
        for _ in range(n):
            w = rng.choice(topical[kind]) if rng.random() < 0.25 else rng.choice(words)
            r = rng.random()
            if r < 0.08:
                w = f"{w}.{rng.choice(words)}()"
            elif r < 0.12:
                w = f"src/{w}/{rng.choice(words)}.py"
            elif r < 0.15:
                w = f"#{rng.randint(1, 9999)}"
            text.append(w.capitalize() if rng.random() < 0.1 else w)
        rows.append({"message": " ".join(text), "kind": kind})
    with open(ROOT / "commits.jsonl", "w") as f:
        for r in rows:
            f.write(json.dumps(r) + "\n")
    pieces = Counter()
    for w in words:
        for i in range(0, len(w), 5):
            pieces[w[i:i + 5] if i == 0 else "##" + w[i:i + 5]] += 1
    vocab = ["[PAD]", "[UNK]", "[CLS]"] + [p for p, _ in pieces.most_common(2500)]
    chars = "abcdefghijklmnopqrstuvwxyz0123456789#./()_-"
    for c in chars:
        for p in (c, "##" + c):
            if p not in vocab:
                vocab.append(p)
    (ROOT / "vocab.txt").write_text("\n".join(vocab) + "\n")


if __name__ == "__main__":
    main()
