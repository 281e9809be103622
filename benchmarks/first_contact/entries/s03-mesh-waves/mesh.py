"""Irregular triangle meshes on the unit square, and a damped wave equation solved on them."""
import numpy as np
import torch


def jittered_mesh(n, rng):
    """n x n points with jitter, triangulated; returns positions (N, 2) and directed edges (2, E)."""
    axis = np.linspace(0, 1, n)
    pos = np.stack(np.meshgrid(axis, axis, indexing="ij"), -1).reshape(-1, 2)
    inner = ((pos > 0) & (pos < 1)).all(1)
    pos[inner] += rng.uniform(-0.3, 0.3, (int(inner.sum()), 2)) / n
    idx = np.arange(n * n).reshape(n, n)
    pairs = [
        (idx[:-1, :], idx[1:, :]),
        (idx[:, :-1], idx[:, 1:]),
    ]
    flip = rng.random((n - 1, n - 1)) < 0.5
    a = np.where(flip, idx[:-1, :-1], idx[:-1, 1:])
    b = np.where(flip, idx[1:, 1:], idx[1:, :-1])
    pairs.append((a, b))
    src = np.concatenate([p.ravel() for p, _ in pairs])
    dst = np.concatenate([q.ravel() for _, q in pairs])
    edges = np.stack([np.concatenate([src, dst]), np.concatenate([dst, src])])
    return pos.astype(np.float32), edges


def simulate(pos, edges, steps, rng, dt=0.18, damping=0.004):
    """Explicit time steps of u_tt = c L u with a random bump to begin with; boundary held at zero."""
    n = len(pos)
    src, dst = edges
    weight = 1.0 / np.linalg.norm(pos[src] - pos[dst], axis=1)
    weight /= weight.mean()
    held = ((pos <= 0) | (pos >= 1)).any(1)
    u = np.zeros(n)
    for _ in range(3):
        centre = rng.uniform(0.2, 0.8, 2)
        u += rng.normal() * np.exp(-((pos - centre) ** 2).sum(1) / 0.01)
    u[held] = 0
    v = np.zeros(n)
    frames = [u.copy()]
    for _ in range(steps):
        for _ in range(3):
            flow = np.bincount(dst, weight * (u[src] - u[dst]), minlength=n)
            v = (1 - damping) * v + dt * flow
            u = u + dt * v
            u[held] = 0
            v[held] = 0
        frames.append(u.copy())
    return np.stack(frames).astype(np.float32), held


class Trajectories:
    """Several meshes with one trajectory each; a batch is some meshes at random times, joined into one graph."""

    def __init__(self, meshes, side, steps, seed):
        rng = np.random.default_rng(seed)
        self.items = []
        for _ in range(meshes):
            pos, edges = jittered_mesh(side, rng)
            frames, held = simulate(pos, edges, steps, rng)
            offset = pos[edges[0]] - pos[edges[1]]
            feature = np.concatenate([offset, np.linalg.norm(offset, axis=1, keepdims=True)], 1) * side
            self.items.append(
                {
                    "frames": torch.from_numpy(frames),
                    "held": torch.from_numpy(held.astype(np.float32)),
                    "senders": torch.from_numpy(edges[0]),
                    "receivers": torch.from_numpy(edges[1]),
                    "edge": torch.from_numpy(feature.astype(np.float32)),
                }
            )
        self.nodes = side * side
        self.scale = torch.cat([(i["frames"][2:] - 2 * i["frames"][1:-1] + i["frames"][:-2]).flatten() for i in self.items]).std()

    def batch(self, which, times):
        node, target, senders, receivers, edge = [], [], [], [], []
        for k, (m, t) in enumerate(zip(which, times)):
            item = self.items[m]
            before, now, after = item["frames"][t - 1], item["frames"][t], item["frames"][t + 1]
            node.append(torch.stack([now, 5 * (now - before), item["held"]], 1))
            target.append((after - 2 * now + before) / self.scale)
            senders.append(item["senders"] + k * self.nodes)
            receivers.append(item["receivers"] + k * self.nodes)
            edge.append(item["edge"])
        return torch.cat(node), torch.cat(edge), torch.cat(senders), torch.cat(receivers), torch.cat(target)

    def random_batch(self, size, generator):
        which = torch.randint(len(self.items), (size,), generator=generator).tolist()
        times = torch.randint(1, len(self.items[0]["frames"]) - 1, (size,), generator=generator).tolist()
        return self.batch(which, times)
