"""Synthetic click sessions in the RecSys15 layout of the repository's preprocessing."""
import os
import numpy as np

rng = np.random.RandomState(0)
os.makedirs("data", exist_ok=True)
N_ITEM = 4000


def write(path, n_sessions, first_all):
    with open(path, "w") as f:
        f.write("SessionID,Time,ItemID\n")
        t = 0
        if first_all:  # every item occurs in the training file
            items = rng.permutation(N_ITEM)
            chunks = [items[i:i + 6] for i in range(0, N_ITEM, 6)]
        else:
            chunks = []
        for s in range(n_sessions):
            if s < len(chunks):
                it = chunks[s]
            else:
                n = 2 + min(rng.geometric(0.25), 20)
                it = (rng.zipf(1.3, n) % N_ITEM)
            for i in it:
                t += 1
                f.write("%d,%d.0,%d\n" % (s, t, i))


write("data/recSys15TrainOnly.txt", 4000, True)
write("data/recSys15Valid.txt", 300, False)
