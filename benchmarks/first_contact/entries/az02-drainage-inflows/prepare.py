"""Makes a sewer network (a tree with a few loops) and two years of quarter-hourly rain, levels and surcharge flags."""
import numpy as np

NODES, STEPS = 560, 6000


def main():
    rng = np.random.default_rng(404)
    xy = rng.uniform(0, 4, (NODES, 2))
    order = np.argsort(xy[:, 0] + 0.3 * xy[:, 1])
    xy = xy[order]
    edges = []
    for i in range(1, NODES):
        lo = max(0, i - 60)
        edges.append((i, lo + int(np.argmin(((xy[lo:i] - xy[i]) ** 2).sum(1)))))
    for _ in range(40):
        i = int(rng.integers(30, NODES))
        edges.append((i, i - int(rng.integers(2, 30))))
    edges = np.array(edges, np.int64)
    parent = np.zeros(NODES, np.int64)
    parent[edges[: NODES - 1, 0]] = edges[: NODES - 1, 1]

    storm = (rng.random(STEPS) < 0.012) * rng.gamma(2.0, 1.5, STEPS)
    rain = np.convolve(storm, np.exp(-np.arange(16) / 5.0))[:STEPS]
    share = rng.uniform(0.3, 1.2, NODES)
    level = np.zeros((STEPS, NODES), np.float32)
    now = np.zeros(NODES)
    for t in range(STEPS):
        out = 0.22 * now
        inflow = np.bincount(parent, out, NODES) * 0.35
        now = now - out + np.minimum(inflow, 1.5) + share * rain[t] * 0.1 + rng.normal(0, 0.01, NODES)
        now = np.clip(now, 0, 6)
        level[t] = now
    gauge = np.maximum(rain[:, None] * (0.8 + 0.4 * rng.random((STEPS, 1))), 0).astype(np.float32)
    np.savez("catchment.npz", edges=edges, level=level, rain=gauge)


if __name__ == "__main__":
    main()
