"""Writes data/preprocess: made-up documents in the shape of 20 newsgroups (18846 documents)."""
import os

import numpy as np
from scipy import sparse
from scipy.io import savemat

rng = np.random.default_rng(2019)
D, V, K = 18846, 6000, 40

base = 1.0 / np.arange(1, V + 1) ** 0.9
topics = np.stack([rng.permutation(base) * 0.5 + base * 0.5 for _ in range(K)])
topics /= topics.sum(1, keepdims=True)
cum = topics.cumsum(1)

rows, cols, vals = [], [], []
for d in range(D):
    theta = rng.dirichlet(np.full(K, 0.08))
    n = int(np.clip(rng.lognormal(4.6, 0.7), 15, 1200))
    z = rng.multinomial(n, theta)
    words = [np.searchsorted(cum[k], rng.random(c)) for k, c in enumerate(z) if c]
    w, c = np.unique(np.minimum(np.concatenate(words), V - 1), return_counts=True)
    rows.append(np.full(len(w), d))
    cols.append(w)
    vals.append(c.astype(float))
rows, cols, vals = map(np.concatenate, (rows, cols, vals))
counts = sparse.csr_matrix((vals, (rows, cols)), shape=(D, V))
df = np.maximum((counts > 0).sum(0).A1 if hasattr((counts > 0).sum(0), "A1") else (counts > 0).sum(0), 1)
tfidf = counts.multiply(np.log((1 + D) / (1 + df)) + 1).tocsr()
norm = np.sqrt(tfidf.multiply(tfidf).sum(1))
tfidf = sparse.csr_matrix(tfidf.multiply(1 / np.asarray(norm).reshape(-1, 1)))

os.makedirs("data/preprocess", exist_ok=True)
savemat("data/preprocess/tf_idf_doc_terms_matrix_time_window_1", {"doc_terms_matrix": tfidf}, do_compression=True, appendmat=False)
savemat("data/preprocess/tf_idf_terms_time_window_1", {"terms": np.array(["w%05d" % i for i in range(V)])}, appendmat=False)
print("docs", D, "vocabulary", V, "words a document", len(rows) / D)
