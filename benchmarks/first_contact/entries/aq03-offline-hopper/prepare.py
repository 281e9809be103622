"""Fills a replay buffer as BCQ's interact_with_environment saves it (buffers/Robust_Hopper-v3_0_*.npy, 100,000 transitions of the stand-in for the hopper)."""
import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), 'shims'))
import gym

STEPS = 100000


def main():
    rng = np.random.default_rng(3)
    env = gym.make('Hopper-v3')
    env.seed(3)
    gain = rng.normal(0, 0.6, (3, 11))
    rows = {k: [] for k in ('state', 'action', 'next_state', 'reward', 'not_done')}
    state, steps, lengths = env.reset(), 0, []
    for _ in range(STEPS):
        steps += 1
        if rng.random() < 0.3:
            action = rng.uniform(-1, 1, 3)
        else:
            action = np.clip(np.tanh(gain @ state) + rng.normal(0, 0.3, 3), -1, 1)
        after, reward, done, _ = env.step(action)
        rows['state'].append(state)
        rows['action'].append(action)
        rows['next_state'].append(after)
        rows['reward'].append([reward])
        rows['not_done'].append([1.0 - float(done and steps < env._max_episode_steps)])
        state = after
        if done:
            lengths.append(steps)
            state, steps = env.reset(), 0
    os.makedirs('buffers', exist_ok=True)
    for name, values in rows.items():
        np.save(f'buffers/Robust_Hopper-v3_0_{name}.npy', np.array(values))
    np.save('buffers/Robust_Hopper-v3_0_ptr.npy', STEPS)
    print(len(lengths), 'episodes,', round(float(np.mean(lengths))), 'steps each')


if __name__ == '__main__':
    main()
