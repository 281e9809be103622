"""Write data/mp: 800 made-up crystals in the form that the script reads (id_prop.csv, one CIF each; atom_init.json is
the repository's own). 46744 crystals of the Materials Project in the paper."""
import csv
import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), 'shims'))
from pymatgen.core.structure import ELEMENTS

rng = np.random.default_rng(20261127)
root = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'data', 'mp')
os.makedirs(root, exist_ok=True)
common = [e for e in ELEMENTS[:83] if e not in ('He', 'Ne', 'Ar', 'Kr', 'Xe', 'Tc', 'Pm')]
weight = {e: rng.normal() for e in common}
rows = []
for n in range(800):
    atoms = int(np.clip(rng.lognormal(2.7, 0.75), 2, 120))
    kinds = [common[i] for i in rng.choice(len(common), int(rng.integers(2, 5)), replace=False)]
    species = [kinds[int(rng.integers(len(kinds)))] for _ in range(atoms)]
    volume = atoms * rng.uniform(13, 24)
    shape = rng.uniform(0.8, 1.3, 3)
    lengths = shape * (volume / shape.prod()) ** (1 / 3)
    angles = [90, 90, 90] if rng.random() < 0.5 else rng.uniform(75, 105, 3)
    side = int(np.ceil(atoms ** (1 / 3)))
    grid = np.stack(np.meshgrid(*[np.arange(side)] * 3, indexing='ij'), -1).reshape(-1, 3)[rng.permutation(side ** 3)[:atoms]]
    coords = (grid + 0.5 + rng.uniform(-0.15, 0.15, (atoms, 3))) / side
    target = float(np.mean([weight[s] for s in species]) + 0.1 * (volume / atoms - 18) + 0.05 * rng.normal())
    name = 'mp-%d' % (100000 + n)
    with open(os.path.join(root, name + '.cif'), 'w') as f:
        f.write("# generated in the form of pymatgen\ndata_%s\n_symmetry_space_group_name_H-M   'P 1'\n" % ''.join(sorted(set(species))))
        for k, v in zip('abc', lengths):
            f.write('_cell_length_%s   %.8f\n' % (k, v))
        for k, v in zip(('alpha', 'beta', 'gamma'), angles):
            f.write('_cell_angle_%s   %.8f\n' % (k, v))
        f.write("_symmetry_Int_Tables_number   1\n_cell_volume   %.8f\n_cell_formula_units_Z   1\nloop_\n _symmetry_equiv_pos_site_id\n"
                " _symmetry_equiv_pos_as_xyz\n  1  'x, y, z'\nloop_\n _atom_site_type_symbol\n _atom_site_label\n"
                " _atom_site_symmetry_multiplicity\n _atom_site_fract_x\n _atom_site_fract_y\n _atom_site_fract_z\n _atom_site_occupancy\n" % volume)
        for i, (s, x) in enumerate(zip(species, coords)):
            f.write('  %s  %s%d  1  %.8f  %.8f  %.8f  1\n' % (s, s, i, *x))
    rows.append((name, target))
with open(os.path.join(root, 'id_prop.csv'), 'w', newline='') as f:
    csv.writer(f).writerows(rows)
