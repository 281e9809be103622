"""Writes data/hopper-medium-v2.pkl: 320 made-up episodes (150 to 400 steps) of the stand-in environment in the form in
which data/download_d4rl_datasets.py of the repository keeps D4RL (a list of dicts of float32 arrays)."""
import os
import pickle
import sys
import numpy as np

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(here, 'shims'))
import gym

rng = np.random.default_rng(2)
env = gym.make('Hopper-v3')
k = 0.4 * rng.normal(size=(3, 11))
paths = []
for n in range(320):
    obs, acts, rews, s = [], [], [], env.reset()
    for t in range(int(rng.integers(150, 401))):
        a = np.tanh(k @ s + 0.3 * rng.normal(size=3))
        obs.append(s)
        acts.append(a)
        s, r, _, _ = env.step(a)
        rews.append(r)
    term = np.zeros(len(rews), bool)
    term[-1] = True
    paths.append({'observations': np.array(obs, np.float32), 'actions': np.array(acts, np.float32),
                  'rewards': np.array(rews, np.float32), 'terminals': term})
os.makedirs(os.path.join(here, 'data'), exist_ok=True)
with open(os.path.join(here, 'data', 'hopper-medium-v2.pkl'), 'wb') as f:
    pickle.dump(paths, f)
print(len(paths), 'episodes', sum(len(p['rewards']) for p in paths), 'steps')
