"""A vectorised planar two-link reacher with a moving goal. All environments advance together."""
import numpy as np


class ReacherVec:
    obs_dim = 12
    act_dim = 2

    def __init__(self, num_envs, dt=0.05, horizon=120, seed=0):
        self.n = num_envs
        self.dt = dt
        self.horizon = horizon
        self.rng = np.random.default_rng(seed)
        self.lengths = np.array([0.6, 0.5], dtype=np.float32)
        self.damping = 0.35
        self.q = np.zeros((self.n, 2), np.float32)
        self.dq = np.zeros((self.n, 2), np.float32)
        self.goal = np.zeros((self.n, 2), np.float32)
        self.goal_vel = np.zeros((self.n, 2), np.float32)
        self.t = np.zeros(self.n, np.int64)
        self.reset()

    def _reset_where(self, mask):
        k = int(mask.sum())
        if k == 0:
            return
        self.q[mask] = self.rng.uniform(-np.pi, np.pi, (k, 2))
        self.dq[mask] = self.rng.normal(0, 0.1, (k, 2))
        radius = self.rng.uniform(0.25, 1.0, k)
        angle = self.rng.uniform(-np.pi, np.pi, k)
        self.goal[mask] = np.stack([radius * np.cos(angle), radius * np.sin(angle)], 1)
        self.goal_vel[mask] = self.rng.normal(0, 0.08, (k, 2))
        self.t[mask] = 0

    def reset(self):
        self._reset_where(np.ones(self.n, bool))
        return self._obs()

    def _tip(self):
        a, b = self.q[:, 0], self.q[:, 0] + self.q[:, 1]
        x = self.lengths[0] * np.cos(a) + self.lengths[1] * np.cos(b)
        y = self.lengths[0] * np.sin(a) + self.lengths[1] * np.sin(b)
        return np.stack([x, y], 1)

    def _obs(self):
        tip = self._tip()
        return np.concatenate(
            [np.cos(self.q), np.sin(self.q), self.dq, self.goal, self.goal_vel, self.goal - tip], 1
        ).astype(np.float32)

    def step(self, action):
        action = np.clip(action, -1.0, 1.0)
        for _ in range(2):
            coupling = 0.2 * np.sin(self.q[:, ::-1] - self.q)
            acc = 4.0 * action - self.damping * self.dq + coupling
            self.dq = (self.dq + 0.5 * self.dt * acc).astype(np.float32)
            self.q = (self.q + 0.5 * self.dt * self.dq).astype(np.float32)
        self.goal += self.dt * self.goal_vel
        dist = np.linalg.norm(self.goal - self._tip(), axis=1)
        reward = -dist - 0.01 * (action ** 2).sum(1) + (dist < 0.05)
        self.t += 1
        timeout = self.t >= self.horizon
        next_obs = self._obs()
        done = dist > 3.0
        self._reset_where(timeout | done)
        return self._obs(), reward.astype(np.float32), done.astype(np.float32), next_obs, timeout | done
