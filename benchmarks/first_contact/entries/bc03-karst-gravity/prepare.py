"""Synthetic microgravity surveys over karst: random caves, their anomalies at the stations."""
import numpy as np

SURVEYS, GRID, STATIONS = 5700, (10, 10, 10), 900
CELL = 8.0


def kernel(rng):
    x, y, z = [(np.arange(n) + 0.5) * CELL for n in GRID]
    cells = np.stack(np.meshgrid(x, y, z, indexing="ij"), -1).reshape(-1, 3)
    side = GRID[0] * CELL
    stations = np.c_[rng.uniform(-20, side + 20, (STATIONS, 2)), np.full(STATIONS, -0.4)]
    gap = cells[None] - stations[:, None]
    r2 = (gap ** 2).sum(-1)
    return (gap[..., 2] * r2 ** -1.5 * CELL ** 2).astype(np.float32)


def caves(rng, count):
    axes = [np.linspace(0, 1, n, dtype=np.float32) for n in GRID]
    gx, gy, gz = np.meshgrid(*axes, indexing="ij")
    out = np.zeros((count, *GRID), np.float32)
    for _ in range(4):
        c = rng.random((count, 3, 1, 1, 1), dtype=np.float32)
        s = (0.06 + 0.14 * rng.random((count, 3, 1, 1, 1))).astype(np.float32)
        d = ((gx - c[:, 0]) / s[:, 0]) ** 2 + ((gy - c[:, 1]) / s[:, 1]) ** 2 + ((gz - c[:, 2]) / s[:, 2]) ** 2
        out -= np.exp(-d)
    return out.reshape(count, -1)


def main():
    rng = np.random.default_rng(29)
    paths = kernel(rng)
    density = caves(rng, SURVEYS)
    anomaly = density @ paths.T
    scale = anomaly.std()
    anomaly = anomaly / scale + 0.02 * rng.normal(size=anomaly.shape).astype(np.float32)
    np.save("kernel.npy", paths / scale)
    np.save("anomaly.npy", np.ascontiguousarray(anomaly.T.astype(np.float32)))
    np.save("density.npy", np.ascontiguousarray(density.T))


if __name__ == "__main__":
    main()
