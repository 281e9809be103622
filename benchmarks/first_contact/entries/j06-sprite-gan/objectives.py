import torch.nn.functional as F


def critic_objective(critic, real, fake):
    return F.relu(1 - critic(real)).mean() + F.relu(1 + critic(fake)).mean()


def generator_objective(critic, fake):
    return -critic(fake).mean()
