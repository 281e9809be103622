"""Writes what data_preprocess.py makes of MIND (news_parsed.tsv, behaviors_parsed.tsv, user2int.tsv,
pretrained_word_embedding.npy) and the validation files, a small made-up MIND: 1,600 news, 300 users, 6,000 words."""
import os

import numpy as np
import pandas as pd

HERE = os.path.dirname(os.path.abspath(__file__))
WORDS, NEWS, USERS, ROWS, VAL_NEWS, VAL_ROWS = 6000, 1600, 300, 840, 260, 450


def titles(rng, count, limit, mean):
    p = 1.0 / (np.arange(1, WORDS + 1) + 2.7)
    p /= p.sum()
    out = []
    for n in np.clip(np.round(rng.normal(mean, mean / 4, count)), 3, None).astype(int):
        row = (rng.choice(WORDS, size=n, p=p) + 1).tolist()[:limit]
        out.append(row + [0] * (limit - len(row)))
    return out


def entities(rows, rng):
    return [[int(w % 900 + 1) if w and rng.random() < 0.1 else 0 for w in row] for row in rows]


def news(rng, ids):
    title, abstract = titles(rng, len(ids), 20, 11.5), titles(rng, len(ids), 50, 37)
    return pd.DataFrame({
        "id": ids,
        "category": rng.integers(1, 18, len(ids)),
        "subcategory": rng.integers(18, 275, len(ids)),
        "title": title,
        "abstract": abstract,
        "title_entities": entities(title, rng),
        "abstract_entities": entities(abstract, rng),
    })


def histories(rng, ids, users):
    lengths = np.clip(np.round(rng.lognormal(np.log(19), 1.0, users)), 0, 200).astype(int)
    p = 1.0 / (np.arange(len(ids)) + 20.0)
    p /= p.sum()
    return [" ".join(rng.choice(ids, size=n, p=p)) if n else " " for n in lengths]


def main():
    rng = np.random.default_rng(11)
    train, val = os.path.join(HERE, "data", "train"), os.path.join(HERE, "data", "val")
    os.makedirs(train, exist_ok=True)
    os.makedirs(val, exist_ok=True)

    ids = np.array([f"N{n}" for n in rng.choice(np.arange(1000, 70000), NEWS, replace=False)])
    news(rng, ids).to_csv(os.path.join(train, "news_parsed.tsv"), sep="\t", index=False)
    users = [f"U{n}" for n in rng.choice(np.arange(100, 95000), USERS, replace=False)]
    pd.DataFrame({"user": users, "int": range(1, USERS + 1)}).to_csv(
        os.path.join(train, "user2int.tsv"), sep="\t", index=False)
    clicked = histories(rng, ids, USERS)
    who = np.sort(rng.integers(0, USERS, ROWS))
    pd.DataFrame({
        "user": who + 1,
        "clicked_news": [clicked[u] for u in who],
        "candidate_news": [" ".join(rng.choice(ids, 3, replace=False)) for _ in who],
        "clicked": ["1 0 0"] * ROWS,
    }).to_csv(os.path.join(train, "behaviors_parsed.tsv"), sep="\t", index=False)
    np.save(os.path.join(train, "pretrained_word_embedding.npy"), rng.normal(0, 0.4, (WORDS + 1, 300)))

    val_ids = ids[:VAL_NEWS]
    news(rng, val_ids).to_csv(os.path.join(val, "news_parsed.tsv"), sep="\t", index=False)
    val_clicked = histories(rng, val_ids, 310)
    rows = []
    for i in range(VAL_ROWS):
        shown = rng.choice(val_ids, int(np.clip(rng.lognormal(3.2, 0.8), 3, 200)), replace=False)
        good = int(rng.integers(0, len(shown)))
        rows.append((i + 1, users[int(rng.integers(0, USERS))], "11/15/2019 8:55:22 AM",
                     val_clicked[int(rng.integers(0, 310))].strip(),
                     " ".join(f"{n}-{int(j == good)}" for j, n in enumerate(shown))))
    pd.DataFrame(rows).to_csv(os.path.join(val, "behaviors.tsv"), sep="\t", index=False, header=False)


if __name__ == "__main__":
    main()
