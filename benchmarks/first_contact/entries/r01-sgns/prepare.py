import collections, os, pickle
import numpy as np
r = np.random.RandomState(0)
V, N, W = 8000, 30000, 5
p = 1.0 / np.arange(1, V); p /= p.sum()
w = r.choice(np.arange(1, V), size=N, p=p)
os.makedirs("data", exist_ok=True)
idx2word = ["<UNK>"] + ["w%d" % i for i in range(1, V)]
c = collections.Counter(w.tolist()); wc = {"w%d" % i: c[i] + 1 for i in range(1, V)}; wc["<UNK>"] = 1
data = []
for i in range(N):
    left, right = w[max(i - W, 0):i].tolist(), w[i + 1:i + 1 + W].tolist()
    data.append((int(w[i]), [0] * (W - len(left)) + left + right + [0] * (W - len(right))))
for n, o in (("idx2word.dat", idx2word), ("wc.dat", wc), ("train.dat", data)):
    pickle.dump(o, open("data/" + n, "wb"))
