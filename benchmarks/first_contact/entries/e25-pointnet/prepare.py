"""Run once in the fetched folder: synthetic shapes in the ShapeNet part format (.pts, .seg, split lists); stand-in for plyfile."""
import json
import os
import numpy as np

rng = np.random.default_rng(4)
cats = {"Airplane": "02691156", "Chair": "03001627", "Lamp": "03636649", "Table": "04379243"}
R = "shapenet"
os.makedirs(R + "/train_test_split", exist_ok=True)
os.makedirs("misc", exist_ok=True)
open("misc/num_seg_classes.txt", "w").write("".join("%s\t4\n" % c for c in cats))
open(R + "/synsetoffset2category.txt", "w").write("".join("%s\t%s\n" % x for x in cats.items()))
with open("plyfile.py", "w") as f:
    f.write("class PlyData:\n    pass\n\n\nclass PlyElement:\n    pass\n")


def shape(k, n):
    u = rng.normal(size=(n, 3))
    if k == 0:
        u *= [2, .15, .4]
    elif k == 1:
        u = rng.uniform(-1, 1, (n, 3))
        u[: n // 2, 1] = 0
        u[n // 2:, 2] = 1
    elif k == 2:
        u /= np.linalg.norm(u, axis=1, keepdims=True)
        u[: n // 3, [0, 2]] *= .1
    else:
        u = rng.uniform(-1, 1, (n, 3)) * [1.5, .05, 1]
        u[: n // 3, 1] -= rng.uniform(0, 1, n // 3)
    return u * .3, 1 + (np.arange(n) * 4 // n)


for split, m in (("train", 320), ("test", 64)):
    lst = []
    for k, (c, off) in enumerate(cats.items()):
        for d in ("points", "points_label"):
            os.makedirs("%s/%s/%s" % (R, off, d), exist_ok=True)
        for i in range(m // 4):
            uid = "%s%04d" % (split, i)
            p, s = shape(k, int(rng.integers(2300, 2900)))
            np.savetxt("%s/%s/points/%s.pts" % (R, off, uid), p, fmt="%.5f")
            np.savetxt("%s/%s/points_label/%s.seg" % (R, off, uid), s, fmt="%d")
            lst.append("shape_data/%s/%s" % (off, uid))
    json.dump(lst, open(R + "/train_test_split/shuffled_%s_file_list.json" % split, "w"))
