"""Writes datasets/solids: 12 classes of made-up closed surfaces, 12 + 3 each, 320 faces (480 edges),
and fills the script's own cache of augmented meshes (as after its first epochs)."""
import os
import sys

import numpy as np

rng = np.random.default_rng(16)
t = (1 + 5 ** 0.5) / 2
V = np.array([[-1, t, 0], [1, t, 0], [-1, -t, 0], [1, -t, 0], [0, -1, t], [0, 1, t], [0, -1, -t], [0, 1, -t],
              [t, 0, -1], [t, 0, 1], [-t, 0, -1], [-t, 0, 1]])
F = [[0, 11, 5], [0, 5, 1], [0, 1, 7], [0, 7, 10], [0, 10, 11], [1, 5, 9], [5, 11, 4], [11, 10, 2], [10, 7, 6],
     [7, 1, 8], [3, 9, 4], [3, 4, 2], [3, 2, 6], [3, 6, 8], [3, 8, 9], [4, 9, 5], [2, 4, 11], [6, 2, 10], [8, 6, 7],
     [9, 8, 1]]


def split(vs, fs):
    vs, mid, out = [v / np.linalg.norm(v) for v in vs], {}, []

    def middle(a, b):
        k = (min(a, b), max(a, b))
        if k not in mid:
            m = vs[a] + vs[b]
            vs.append(m / np.linalg.norm(m))
            mid[k] = len(vs) - 1
        return mid[k]

    for a, b, c in fs:
        x, y, z = middle(a, b), middle(b, c), middle(c, a)
        out += [[a, x, z], [b, y, x], [c, z, y], [x, y, z]]
    return np.array(vs), out


vs, fs = split(*split(V, F))
names = ["solid%02d" % c for c in range(12)]
for c, name in enumerate(names):
    centres = np.random.default_rng(100 + c).normal(size=(2 + c % 4, 3))
    centres /= np.linalg.norm(centres, axis=1, keepdims=True)
    heights = np.random.default_rng(200 + c).uniform(-0.35, 0.8, len(centres))
    for k in range(15):
        d = os.path.join("datasets", "solids", name, "train" if k < 12 else "test")
        os.makedirs(d, exist_ok=True)
        r = np.ones(len(vs))
        for m, h in zip(centres, heights):
            m = m + rng.normal(0, 0.15, 3)
            r += h * rng.uniform(0.8, 1.2) * np.exp(-((vs - m) ** 2).sum(1) / (0.25 + 0.05 * (c % 3)))
        p = vs * r[:, None] * rng.uniform(0.8, 1.25, 3) + rng.normal(0, 0.01, vs.shape)
        with open(os.path.join(d, "T%d.obj" % (c * 15 + k)), "w") as f:
            f.writelines("v %.6f %.6f %.6f\n" % tuple(v) for v in p)
            f.writelines("f %d %d %d\n" % (a + 1, b + 1, e + 1) for a, b, e in fs)

if __name__ == "__main__":
    sys.argv = ["prepare.py", "--dataroot", "datasets/solids", "--name", "prepare", "--gpu_ids", "-1",
                "--ninput_edges", "480", "--flip_edges", "0.2", "--slide_verts", "0.2", "--num_aug", "4"]
    from data import DataLoader
    from models.layers import mesh_prepare
    from options.test_options import TestOptions
    from options.train_options import TrainOptions

    np.random.seed(16)
    opt = TrainOptions().parse()
    ds = DataLoader(opt).dataset
    for path, _ in ds.paths:
        for a in range(opt.num_aug):
            name = mesh_prepare.get_mesh_path(path, 1)[:-7] + "%03d.npz" % a
            if not os.path.exists(name):
                m = mesh_prepare.from_scratch(path, opt)
                np.savez_compressed(name, gemm_edges=m.gemm_edges, vs=m.vs, edges=m.edges, edges_count=m.edges_count,
                                    ve=np.array(m.ve, dtype=object), v_mask=m.v_mask, filename=m.filename,
                                    sides=m.sides, edge_lengths=m.edge_lengths, edge_areas=m.edge_areas,
                                    features=m.features)
    for item in DataLoader(TestOptions().parse()).dataset:
        pass
