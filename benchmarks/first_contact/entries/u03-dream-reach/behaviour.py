"""Actor and critic, taught within the world model."""
import torch
from torch import nn

from world import mlp


class Actor(nn.Module):
    def __init__(self, features, actions, hidden=128):
        super().__init__()
        self.net = mlp(features, hidden, 2 * actions)

    def forward(self, features, noise=True):
        mean, raw = self.net(features).chunk(2, dim=-1)
        if not noise:
            return mean.tanh()
        return (mean + (raw - 1.0).exp().clamp(max=1.0) * torch.randn_like(mean)).tanh()


class Critic(nn.Module):
    def __init__(self, features, hidden=128):
        super().__init__()
        self.net = mlp(features, hidden, 1)

    def forward(self, features):
        return self.net(features).squeeze(-1)


def imagine(world, actor, state, horizon):
    """Follow the actor through the model; features (horizon + 1, n, .) and rewards."""
    features, rewards = [state.features], []
    for _ in range(horizon):
        action = actor(features[-1].detach())
        state, outlook = world.dream(state, action)
        features.append(state.features)
        rewards.append(outlook.reward)
    return torch.stack(features), torch.stack(rewards)


def lambda_returns(rewards, values, discount=0.97, mix=0.95):
    """Returns for every imagined step, from the last to the first."""
    following = values[-1]
    returns = []
    for reward, value in zip(rewards.flip(0), values[1:].flip(0)):
        following = reward + discount * ((1 - mix) * value + mix * following)
        returns.append(following)
    return torch.stack(returns[::-1])
