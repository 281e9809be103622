import numpy as np

ELEMENTS = ("Si", "K", "Ca", "Ti", "Mn", "Fe", "Rb", "Sr", "Zr", "Br")


def peat_core(rng, millimetres=4000):
    """XRF counts down one core and where the tephra lies (0 peat, 1 glass-rich layer, 2 mineral inwash)."""
    walk = np.cumsum(rng.normal(0, 0.02, (millimetres, len(ELEMENTS))), 0)
    counts = 2.0 + 0.5 * np.sin(walk) + rng.normal(0, 0.15, walk.shape)
    label = np.zeros(millimetres, np.int64)
    glass = np.array([1.2, 0.9, 0.2, 0.5, 0.1, 0.4, 0.8, 0.1, 1.1, -0.4])
    inwash = np.array([1.4, 0.8, 0.9, 0.9, 0.4, 0.9, 0.6, 0.7, 0.7, -0.5])
    for kind, signature, often in ((1, glass, 26), (2, inwash, 14)):
        for start in rng.integers(20, millimetres - 60, often):
            thick = int(rng.integers(2, 18 if kind == 1 else 45))
            profile = np.exp(-np.arange(thick) / thick)[:, None]
            counts[start:start + thick] += profile * signature * rng.uniform(0.4, 1.3)
            label[start:start + thick] = kind
    return counts.astype(np.float32).T, label
