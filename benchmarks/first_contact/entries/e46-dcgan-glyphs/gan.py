import os
import tempfile

import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH, LATENT, STEPS, CHANNELS = 64, 64, 500, 24


def make_glyphs(count):
    """Closed curves with a random few harmonics, rendered at 32x32."""
    yy, xx = torch.meshgrid(torch.linspace(-1.2, 1.2, 32), torch.linspace(-1.2, 1.2, 32), indexing="ij")
    angle, radius = torch.atan2(yy, xx), (xx ** 2 + yy ** 2).sqrt()
    amp = 0.15 * torch.randn(count, 4, 1, 1)
    phase = 6.28 * torch.rand(count, 4, 1, 1)
    order = torch.arange(2, 6).view(1, 4, 1, 1)
    outline = 0.75 + (amp * torch.cos(order * angle + phase)).sum(1)
    stroke = torch.exp(-((radius - outline) / 0.12) ** 2)
    return (2 * stroke - 1).unsqueeze(1)


class Generator(nn.Module):
    def __init__(self, c=CHANNELS):
        super().__init__()
        self.start = nn.Linear(LATENT, 4 * c * 16)
        self.net = nn.Sequential(
            nn.BatchNorm2d(4 * c), nn.ReLU(inplace=True),
            nn.ConvTranspose2d(4 * c, 4 * c, 4, 2, 1, bias=False), nn.BatchNorm2d(4 * c), nn.ReLU(inplace=True),
            nn.ConvTranspose2d(4 * c, 2 * c, 4, 2, 1, bias=False), nn.BatchNorm2d(2 * c), nn.ReLU(inplace=True),
            nn.ConvTranspose2d(2 * c, 1, 4, 2, 1), nn.Tanh())

    def forward(self, z):
        h = self.start(z).view(len(z), -1, 4, 4).contiguous(memory_format=torch.channels_last)
        return self.net(h)


class Critic(nn.Module):
    def __init__(self, c=CHANNELS):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(1, c, 4, 2, 1), nn.LeakyReLU(0.2, inplace=True),
            nn.Conv2d(c, 2 * c, 4, 2, 1), nn.LeakyReLU(0.2, inplace=True),
            nn.Conv2d(2 * c, 4 * c, 4, 2, 1), nn.LeakyReLU(0.2, inplace=True),
            nn.Flatten(), nn.Linear(4 * c * 16, 1))

    def forward(self, x):
        return self.net(x).squeeze(1)


torch.manual_seed(7)
glyphs = make_glyphs(6000)
G = Generator().to(memory_format=torch.channels_last)
D = Critic().to(memory_format=torch.channels_last)
opt_g = torch.optim.Adam(G.parameters(), lr=5e-4, betas=(0.5, 0.999), fused=True)
opt_d = torch.optim.Adam(D.parameters(), lr=1e-4, betas=(0.5, 0.999), fused=True)
fixed_z = torch.randn(64, LATENT)
folder = tempfile.mkdtemp()

for step in range(1, STEPS + 1):
    real = glyphs[torch.randint(len(glyphs), (BATCH,))]
    fake = G(torch.randn(BATCH, LATENT))

    # critic: real against fake
    D.requires_grad_(True)
    loss_d = F.softplus(-D(real)).mean() + F.softplus(D(fake.detach())).mean()
    opt_d.zero_grad()
    loss_d.backward()
    opt_d.step()

    # generator: the same pictures, judged by the new critic
    D.requires_grad_(False)
    loss_g = F.softplus(-D(fake)).mean()
    opt_g.zero_grad()
    loss_g.backward()
    opt_g.step()

    if step % 25 == 0:
        print(f"{step:4d}  critic {loss_d.item():.3f}  generator {loss_g.item():.3f}")
    if step % 250 == 0:
        G.eval()
        with torch.inference_mode():
            sheet = G(fixed_z).view(8, 8, 32, 32).permute(0, 2, 1, 3).reshape(256, 256)
        G.train()
        torch.save(((sheet + 1) * 127.5).byte(), os.path.join(folder, f"sheet{step}.pt"))
        torch.save({"G": G.state_dict(), "D": D.state_dict()}, os.path.join(folder, "gan.pt"))

ink = (sheet > 0).float().mean().item()
print(f"ink on the last sheet {ink:.3f}, in the data {(glyphs > 0).float().mean().item():.3f}")
