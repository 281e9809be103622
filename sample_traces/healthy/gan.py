"""Train a small GAN on points of a ring: two optimizers, each stepping once an iteration."""

import time

import torch
from torch import nn

STEPS = 150
BATCH = 256
NOISE = 32


def network(inputs, outputs):
    return nn.Sequential(nn.Linear(inputs, 512), nn.LeakyReLU(0.2), nn.Linear(512, 512), nn.LeakyReLU(0.2), nn.Linear(512, outputs))


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"

    angles = torch.rand(BATCH * 16, device=device) * 6.28
    ring = torch.stack([angles.cos(), angles.sin()], dim=1)
    generator, critic = network(NOISE, 2).to(device), network(2, 1).to(device)
    generator_optimizer = torch.optim.Adam(generator.parameters(), lr=2e-4, betas=(0.5, 0.999), fused=True)
    critic_optimizer = torch.optim.Adam(critic.parameters(), lr=2e-4, betas=(0.5, 0.999), fused=True)
    criterion = nn.BCEWithLogitsLoss()
    real, fake = torch.ones(BATCH, 1, device=device), torch.zeros(BATCH, 1, device=device)

    started = time.perf_counter()
    for step in range(STEPS):
        points = ring[step % 16 * BATCH :][:BATCH]
        drawn = generator(torch.randn(BATCH, NOISE, device=device))

        critic_optimizer.zero_grad()
        critic_loss = criterion(critic(points), real) + criterion(critic(drawn.detach()), fake)
        critic_loss.backward()
        critic_optimizer.step()

        generator_optimizer.zero_grad()
        generator_loss = criterion(critic(drawn), real)
        generator_loss.backward()
        generator_optimizer.step()
    elapsed = time.perf_counter() - started

    print(f"{STEPS} steps, {1000 * elapsed / STEPS:.1f} ms a step, last loss {generator_loss.item():.4f}")


if __name__ == "__main__":
    main()
