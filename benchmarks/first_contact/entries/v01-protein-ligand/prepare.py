"""Writes made-up compound-protein pairs in the format that preprocess_data.py leaves behind
(fingerprints of atoms, adjacency, 3-gram words of the protein, interaction)."""
import os
import pickle
import numpy as np

rng = np.random.default_rng(7)
here = os.path.dirname(os.path.abspath(__file__))
out = os.path.join(here, 'dataset', 'human', 'input', 'radius2_ngram3')
os.makedirs(out, exist_ok=True)
for d in ('result', 'model'):
    os.makedirs(os.path.join(here, 'output', d), exist_ok=True)
N, FP, WORDS = 120, 2400, 7800


def compound():
    n = int(np.clip(rng.normal(26, 10), 8, 70))
    A = np.zeros((n, n))
    for i in range(1, n):
        j = max(0, i - 1 - int(rng.geometric(0.6)) + 1)
        A[i, j] = A[j, i] = 1
    for _ in range(n // 8):
        i, j = rng.integers(0, n, 2)
        if i != j:
            A[i, j] = A[j, i] = 1
    return (rng.zipf(1.4, n) % FP).astype(np.int64), A


def protein():
    n = int(np.clip(np.exp(rng.normal(np.log(430), 0.55)), 60, 1800))
    return (np.minimum(rng.random(n) ** 1.5 * WORDS, WORDS - 1)).astype(np.int64)


compounds, adjacencies, proteins, interactions = [], [], [], []
prots = [protein() for _ in range(60)]
bias = rng.normal(size=len(prots))
for _ in range(N):
    c, A = compound()
    k = int(rng.integers(len(prots)))
    compounds.append(c)
    adjacencies.append(A)
    proteins.append(prots[k])
    interactions.append(np.array([int(bias[k] + 0.02 * (len(c) - 26) + 0.5 * rng.normal() > 0)]))


def save(name, rows):
    a = np.empty(len(rows), dtype=object)
    for i, r in enumerate(rows):
        a[i] = r
    np.save(os.path.join(out, name + '.npy'), a)


save('compounds', compounds)
save('adjacencies', adjacencies)
save('proteins', proteins)
save('interactions', interactions)
for name, n in (('fingerprint_dict', FP), ('word_dict', WORDS)):
    with open(os.path.join(out, name + '.pickle'), 'wb') as f:
        pickle.dump({i: i for i in range(n)}, f)
print(N, np.mean([len(p) for p in proteins]), np.mean([len(c) for c in compounds]))
