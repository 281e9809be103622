"""Writes made-up event streams in the format of the Stack Overflow data of the paper
(22 types of badge, streams of very different lengths)."""
import os
import pickle
import numpy as np

rng = np.random.default_rng(1)
out = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'data', 'so')
os.makedirs(out, exist_ok=True)
K = 22
base = rng.dirichlet(np.full(K, 0.6))
jump = np.stack([0.5 * base + 0.5 * rng.dirichlet(np.full(K, 0.15)) for _ in range(K)])
rate = rng.uniform(0.5, 2.5, K)


def stream():
    n = int(np.clip(np.exp(rng.normal(np.log(42), 0.62)), 16, 300))
    t, k, inst = 0.0, int(rng.choice(K, p=base)), []
    for i in range(n):
        gap = float(rng.exponential(1.0 / rate[k])) if i else 0.0
        t += gap
        inst.append({'time_since_start': t, 'time_since_last_event': gap, 'type_event': k, 'idx_event': i + 1})
        k = int(rng.choice(K, p=jump[k]))
    return inst


for name, n in (('train', 240), ('dev', 30), ('test', 60)):
    data = [stream() for _ in range(n)]
    with open(os.path.join(out, name + '.pkl'), 'wb') as f:
        pickle.dump({'dim_process': K, name: data}, f)
    print(name, n, np.mean([len(d) for d in data]), max(len(d) for d in data))
