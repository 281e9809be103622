"""Synthetic organic-looking molecules: a random tree of heavy atoms with a few rings closed."""
import numpy as np

ATOMS = ["C", "N", "O", "S", "F", "Cl"]
VALENCE = np.array([4, 3, 2, 2, 1, 1])
WEIGHT = np.array([12.0, 14.0, 16.0, 32.1, 19.0, 35.5])


def random_molecule(rng, low=12, high=30):
    n = int(rng.integers(low, high))
    kinds = rng.choice(6, size=n, p=[0.68, 0.12, 0.12, 0.03, 0.03, 0.02])
    kinds[0] = 0
    free = VALENCE[kinds].copy()
    bonds = []
    for i in range(1, n):
        open_atoms = np.flatnonzero(free[:i] > 0)
        if len(open_atoms) == 0:
            kinds[i - 1] = 0
            free[i - 1] = 3
            open_atoms = np.array([i - 1])
        j = int(open_atoms[-1] if rng.random() < 0.6 else rng.choice(open_atoms))
        order = 1
        if free[i] > 1 and free[j] > 1 and rng.random() < 0.2:
            order = 2
        bonds.append((i, j, order))
        free[i] -= order
        free[j] -= order
    for _ in range(int(rng.integers(1, 4))):
        open_atoms = np.flatnonzero(free > 0)
        if len(open_atoms) < 2:
            break
        i, j = rng.choice(open_atoms, size=2, replace=False)
        if abs(int(i) - int(j)) > 3:
            bonds.append((int(i), int(j), 1))
            free[i] -= 1
            free[j] -= 1
    bonds = np.array(bonds, dtype=np.int64)
    hydrogens = np.maximum(free, 0)
    return {"atoms": kinds.astype(np.int64), "hydrogens": hydrogens.astype(np.int64), "bonds": bonds}


def target(mol):
    """A smooth made-up property: polar surface, branching and size."""
    deg = np.bincount(mol["bonds"][:, :2].ravel(), minlength=len(mol["atoms"]))
    polar = np.isin(mol["atoms"], [1, 2]).sum()
    branch = (deg >= 3).sum()
    return float(0.02 * WEIGHT[mol["atoms"]].sum() - 0.8 * polar + 0.4 * branch + 0.1 * mol["hydrogens"].sum())
