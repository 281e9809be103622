import numpy as np
import torch


class EpisodeRunner:
    def __init__(self, env, agent, seed=0):
        self.env, self.agent = env, agent
        self.rng = np.random.default_rng(seed)
        self.ids = torch.eye(env.n_agents)

    @torch.no_grad()
    def run(self, epsilon):
        env = self.env
        obs, state = env.reset()
        episode = {k: [] for k in ("obs", "state", "avail", "actions", "reward", "terminated")}
        hidden = [self.agent.init_hidden(1) for _ in range(env.n_agents)]
        done = False
        while not done:
            avail = env.available()
            actions = np.zeros(env.n_agents, dtype=np.int64)
            for i in range(env.n_agents):
                inputs = torch.cat([torch.from_numpy(obs[i]), self.ids[i]]).unsqueeze(0)
                q, hidden[i] = self.agent(inputs, hidden[i])
                q = q.squeeze(0).masked_fill(torch.from_numpy(avail[i]) == 0, -1e9)
                if self.rng.random() < epsilon:
                    actions[i] = self.rng.choice(np.flatnonzero(avail[i]))
                else:
                    actions[i] = q.argmax().item()
            reward, terminated, done = env.step(actions)
            for key, value in zip(episode, (obs, state, avail, actions, np.float32(reward), np.float32(terminated))):
                episode[key].append(value)
            obs, state = env.observe(), env.state()
        episode["obs"].append(obs)
        episode["state"].append(state)
        episode["avail"].append(env.available())
        return episode
