import os
import numpy as np
r = np.random.RandomState(0)
os.makedirs("ml-1m", exist_ok=True); os.makedirs("chkpt", exist_ok=True)
n = 400000
u, i, s = r.randint(1, 6041, n), (r.zipf(1.3, n) % 3952) + 1, r.randint(1, 6, n)
with open("ml-1m/ratings.dat", "w") as f:
    f.writelines("%d::%d::%d::%d\n" % (a, b, c, 978300000 + k) for k, (a, b, c) in enumerate(zip(u, i, s)))
