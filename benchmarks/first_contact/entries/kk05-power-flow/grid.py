"""A random transmission grid and AC power flow by Newton's method, many load cases at once."""
import numpy as np


def make_grid(rng, buses, lines):
    position = rng.uniform(0, 1, (buses, 2))
    distance = np.linalg.norm(position[:, None] - position[None], axis=-1) + np.eye(buses) * 9
    edges = set()
    joined = [0]
    for b in range(1, buses):
        other = joined[int(np.argmin(distance[b, joined]))]
        edges.add((min(b, other), max(b, other)))
        joined.append(b)
    for flat in np.argsort(distance, axis=None):
        if len(edges) >= lines:
            break
        i, j = divmod(int(flat), buses)
        if i < j:
            edges.add((i, j))
    edges = np.array(sorted(edges))
    length = distance[edges[:, 0], edges[:, 1]]
    x = 0.02 + 0.25 * length
    return edges, 0.25 * x, x


def admittance(buses, edges, r, x):
    y = 1.0 / (r + 1j * x)
    matrix = np.zeros((buses, buses), complex)
    for (i, j), value in zip(edges, y):
        matrix[i, j] -= value
        matrix[j, i] -= value
        matrix[i, i] += value
        matrix[j, j] += value
    return matrix


def solve(ybus, p, q, generators, set_voltage, iterations=8):
    """Cases along the first dimension; bus 0 is the slack bus. Returns magnitude, angle and the last mismatch."""
    cases, n = p.shape
    load = np.setdiff1d(np.arange(1, n), generators)
    vm = np.ones((cases, n))
    vm[:, generators] = set_voltage
    va = np.zeros((cases, n))
    g, b = ybus.real, ybus.imag
    pv_pq = np.arange(1, n)
    for _ in range(iterations):
        v = vm * np.exp(1j * va)
        current = v @ ybus.T
        s = v * current.conj()
        dp, dq = (p - s.real)[:, pv_pq], (q - s.imag)[:, load]
        mismatch = max(np.abs(dp).max(), np.abs(dq).max())
        angle = va[:, :, None] - va[:, None, :]
        cos, sin = np.cos(angle), np.sin(angle)
        vv = vm[:, :, None] * vm[:, None, :]
        hp = vv * (g * sin - b * cos)
        nq = -vv * (g * cos + b * sin)
        diag = np.arange(n)
        dp_da = hp.copy()
        dp_da[:, diag, diag] = -s.imag - b.diagonal() * vm**2
        dq_da = nq.copy()
        dq_da[:, diag, diag] = s.real - g.diagonal() * vm**2
        dp_dv = -nq.copy()
        dp_dv[:, diag, diag] = s.real + g.diagonal() * vm**2
        dq_dv = hp.copy()
        dq_dv[:, diag, diag] = s.imag - b.diagonal() * vm**2
        take = lambda m, rows, cols: m[:, rows[:, None], cols]
        jac = np.block([[take(dp_da, pv_pq, pv_pq), take(dp_dv, pv_pq, load)], [take(dq_da, load, pv_pq), take(dq_dv, load, load)]])
        step = np.linalg.solve(jac, np.concatenate([dp, dq], 1)[..., None])[..., 0]
        va[:, pv_pq] += step[:, : n - 1]
        vm[:, load] *= 1 + step[:, n - 1:]
    return vm, va, mismatch
