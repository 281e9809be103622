"""Run once in the fetched folder: synthetic ratings in the NCF text format; stand-ins for scipy.sparse.dok_matrix and tensorboardX."""
import os
import numpy as np

rng = np.random.default_rng(11)
U, I = 600, 1200
pop = 1 / np.arange(1, I + 1) ** .7
pop = pop[rng.permutation(I)]
taste_i = rng.normal(size=(I, 6))
taste_u = rng.normal(size=(U, 6))
os.makedirs("Data", exist_ok=True)
with open("Data/ml-1m.train.rating", "w") as tr, open("Data/ml-1m.test.rating", "w") as te, open("Data/ml-1m.test.negative", "w") as ng:
    for u in range(U):
        p = pop * np.exp(taste_i @ taste_u[u] * .6)
        n = int(rng.integers(12, 28)) if u else 40
        its = rng.choice(I, n + 1, replace=False, p=p / p.sum())
        if u == 0:
            its[0] = I - 1
        for t, i in enumerate(its[:-1]):
            tr.write("%d\t%d\t%d\t%d\n" % (u, i, rng.integers(1, 6), 978300000 + t))
        te.write("%d\t%d\t5\t978400000\n" % (u, its[-1]))
        if u % 5 == 0:
            neg = rng.choice(np.setdiff1d(np.arange(I), its), 99, replace=False)
            ng.write("(%d,%d)\t%s\n" % (u, its[-1], "\t".join(map(str, neg))))
os.makedirs("scipy", exist_ok=True)
open("scipy/__init__.py", "w").close()
with open("scipy/sparse.py", "w") as f:
    f.write("class dok_matrix(dict):\n    def __init__(self, shape, dtype=None):\n        super().__init__()\n        self.shape, self.dtype = shape, dtype\n")
with open("tensorboardX.py", "w") as f:
    f.write("from torch.utils.tensorboard import SummaryWriter\n")
