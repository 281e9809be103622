"""Made-up ratings and knowledge graph in the form that preprocess.py writes (ratings_final.txt, kg_final.txt)."""
import os

import numpy as np

rng = np.random.RandomState(0)
N_USER, N_ITEM, N_ENTITY, N_RELATION = 600, 2445, 40000, 12

os.makedirs("data/movie", exist_ok=True)
popularity = 1.0 / (np.arange(N_ITEM) + 20)
popularity /= popularity.sum()
taste = rng.randint(0, 20, N_USER)
genre = rng.randint(0, 20, N_ITEM)

rows = []
for user in range(N_USER):
    n = int(np.clip(rng.lognormal(3.6, 0.7), 10, 300))
    weight = popularity * np.where(genre == taste[user], 8.0, 1.0)
    liked = rng.choice(N_ITEM, size=n, replace=False, p=weight / weight.sum())
    other = rng.choice(np.setdiff1d(np.arange(N_ITEM), liked), size=n, replace=False)
    rows += [(user, i, 1) for i in liked] + [(user, i, 0) for i in other]
np.savetxt("data/movie/ratings_final.txt", np.array(rows), fmt="%d", delimiter="\t")

head = np.concatenate([np.repeat(np.arange(N_ITEM), 12), rng.randint(N_ITEM, N_ENTITY, 60000)])
tail = rng.randint(N_ITEM, N_ENTITY, len(head))
relation = rng.randint(0, N_RELATION, len(head))
head = np.concatenate([head, np.arange(N_ITEM, N_ENTITY)])
tail = np.concatenate([tail, rng.randint(0, N_ENTITY, N_ENTITY - N_ITEM)])
relation = np.concatenate([relation, rng.randint(0, N_RELATION, N_ENTITY - N_ITEM)])
np.savetxt("data/movie/kg_final.txt", np.stack([head, relation, tail], 1), fmt="%d", delimiter="\t")
print(len(rows), "ratings,", len(head), "triples")
