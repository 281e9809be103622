"""Two optimizers, one tick each."""

import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(0)

generator, critic = nn.Linear(4, 8), nn.Linear(8, 1)
for_generator = torch.optim.Adam(generator.parameters())
for_critic = torch.optim.SGD(critic.parameters(), lr=0.01)
for _ in range(120):
    fake = generator(torch.randn(16, 4))
    for_critic.zero_grad()
    (critic(fake.detach()).mean() - critic(torch.randn(16, 8)).mean()).backward()
    for_critic.step()
    for_generator.zero_grad()
    loss = -critic(fake).mean()
    loss.backward()
    for_generator.step()
print(f"{loss.item():.9f}")
