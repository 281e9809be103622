"""Writes data/piececonst_r241_N1024_smooth1.mat and ..2.mat: 200 + 20 made-up Darcy flows in the form of the data of the
Fourier Neural Operator (piecewise constant coefficient of 12 and 3 from a Gaussian random field, solution with zero
boundary, grid of 241; 1024 each there), solved on a grid of 61 and interpolated."""
import os

import numpy as np
import scipy.io
import scipy.sparse as sp
from scipy.fft import idctn
from scipy.ndimage import zoom
from scipy.sparse.linalg import spsolve

rng = np.random.RandomState(5)
N, S = 61, 241
k = np.pi * np.arange(S)
decay = 3.0 ** 1 * (k[:, None] ** 2 + k[None] ** 2 + 9.0) ** -1.0
decay[0, 0] = 0


def flow():
    field = idctn(rng.randn(S, S) * decay, norm='ortho')
    coeff = np.where(field > 0, 12.0, 3.0)
    a = coeff[::4, ::4]
    h = 1.0 / (N - 1)
    i = np.arange(N * N).reshape(N, N)
    rows, cols, vals = [], [], []
    diag = np.zeros(N * N)
    for p, q, m in ((i[1:], i[:-1], (a[1:] + a[:-1]) / 2), (i[:, 1:], i[:, :-1], (a[:, 1:] + a[:, :-1]) / 2)):
        p, q, m = p.ravel(), q.ravel(), m.ravel() / h ** 2
        rows += [p, q]
        cols += [q, p]
        vals += [-m, -m]
        np.add.at(diag, p, m)
        np.add.at(diag, q, m)
    A = sp.csr_matrix((np.concatenate(vals + [diag]), (np.concatenate(rows + [i.ravel()]), np.concatenate(cols + [i.ravel()]))))
    inner = i[1:-1, 1:-1].ravel()
    u = np.zeros(N * N)
    u[inner] = spsolve(A[inner][:, inner].tocsc(), np.ones(len(inner)))
    return coeff, zoom(u.reshape(N, N), S / N, order=1, grid_mode=False)


os.makedirs('data', exist_ok=True)
for name, n in (('smooth1', 200), ('smooth2', 20)):
    coeff, sol = zip(*(flow() for _ in range(n)))
    scipy.io.savemat('data/piececonst_r241_N1024_%s.mat' % name,
                     {'coeff': np.array(coeff, np.float32), 'sol': np.array(sol, np.float32)}, do_compression=True)
