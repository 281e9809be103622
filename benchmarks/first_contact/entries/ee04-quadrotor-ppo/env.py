"""Planar quadrotor that has to fly to a moving waypoint; all copies advance together."""
import numpy as np

GRAVITY, MASS, INERTIA, ARM, DT = 9.81, 0.8, 0.012, 0.18, 0.02


class QuadrotorVec:
    obs_dim = 10
    act_dim = 2

    def __init__(self, num_envs, max_steps=250, seed=0):
        self.num_envs = num_envs
        self.max_steps = max_steps
        self.rng = np.random.default_rng(seed)
        self.state = np.zeros((num_envs, 6), dtype=np.float32)
        self.goal = np.zeros((num_envs, 2), dtype=np.float32)
        self.steps = np.zeros(num_envs, dtype=np.int64)
        self.returns = np.zeros(num_envs, dtype=np.float32)
        self.finished = []

    def _restart(self, which):
        count = int(which.sum())
        if count == 0:
            return
        self.state[which] = self.rng.uniform(-1, 1, (count, 6)).astype(np.float32) * [1.5, 1.5, 0.3, 0.5, 0.5, 0.5]
        self.goal[which] = self.rng.uniform(-1.5, 1.5, (count, 2))
        self.steps[which] = 0
        self.returns[which] = 0

    def _observe(self):
        x, z, theta, vx, vz, omega = self.state.T
        left = 1 - self.steps / self.max_steps
        return np.stack([self.goal[:, 0] - x, self.goal[:, 1] - z, np.sin(theta), np.cos(theta), vx, vz, omega,
                         x, z, left], axis=1).astype(np.float32)

    def reset(self):
        self._restart(np.ones(self.num_envs, dtype=bool))
        return self._observe()

    def step(self, action):
        thrust = (np.clip(action, -1, 1) * 0.9 + 1.0) * (0.5 * MASS * GRAVITY)
        total, torque = thrust.sum(axis=1), ARM * (thrust[:, 1] - thrust[:, 0])
        theta = self.state[:, 2]
        acceleration = np.stack([-total / MASS * np.sin(theta), total / MASS * np.cos(theta) - GRAVITY,
                                 torque / INERTIA], axis=1)
        self.state[:, 3:] += DT * acceleration
        self.state[:, :3] += DT * self.state[:, [3, 4, 5]]
        self.steps += 1

        distance = np.linalg.norm(self.goal - self.state[:, :2], axis=1)
        reward = (np.exp(-distance) - 0.02 * self.state[:, 5] ** 2 - 0.05 * (action ** 2).sum(axis=1)).astype(np.float32)
        crashed = (distance > 4) | (np.abs(self.state[:, 2]) > 2)
        reward[crashed] -= 5
        self.returns += reward
        done = crashed | (self.steps >= self.max_steps)
        self.finished.extend(self.returns[done].tolist())
        self._restart(done)
        return self._observe(), reward, done
