import os, sys
import numpy as np
n, f, e, where = (int(a) if a.isdigit() else a for a in sys.argv[1:5])
r = np.random.RandomState(0)
os.makedirs(where, exist_ok=True)
x = (r.rand(n, f) < 0.0127).astype(int)
y = r.randint(0, 7, n)
ids = r.permutation(100000)[:n]
with open(where + "/cora.content", "w") as o:
    for i in range(n):
        o.write("%d\t%s\tClass_%d\n" % (ids[i], "\t".join(map(str, x[i])), y[i]))
a = r.randint(0, n, (e, 2))
a = a[a[:, 0] != a[:, 1]]
np.savetxt(where + "/cora.cites", ids[a], fmt="%d", delimiter="\t")
