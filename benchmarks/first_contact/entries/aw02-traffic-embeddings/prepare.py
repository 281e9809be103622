"""Stand-in for PeMSD4: flow, occupancy and speed of 50 sensors every five minutes for a week and a half."""
import os
import numpy as np

rng = np.random.default_rng(4)
T, N = 2304, 50
t = np.arange(T)[:, None]
level = rng.uniform(80, 350, N)
phase = rng.normal(0, 12, N)
day = np.clip(np.sin((t + phase - 80) / 288 * 2 * np.pi), -0.6, None) + 0.5 * np.exp(-(((t + phase) % 288 - 100) / 18) ** 2)
week = np.where((t // 288) % 7 >= 5, 0.7, 1.0)
flow = np.maximum(level * (0.8 + 0.6 * day) * week + rng.normal(0, 12, (T, N)), 1).round()
occ = flow / 4000
speed = 70 - 15 * day
os.makedirs("data/PeMSD4", exist_ok=True)
np.savez("data/PeMSD4/pems04.npz", data=np.stack([flow, occ, speed], -1))
