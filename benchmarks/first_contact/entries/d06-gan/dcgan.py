# %% DCGAN on tiny procedural sprites
import time

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(11)
nz, ngf, ndf, size, batch_size, iterations = 64, 24, 12, 32, 24, 260

# %% data: random filled ellipses and boxes on a gradient
n = 2048
yy, xx = torch.meshgrid(torch.linspace(-1, 1, size), torch.linspace(-1, 1, size), indexing="ij")
cx, cy, rx, ry = (torch.rand(4, n, 1, 1) * torch.tensor([1.0, 1.0, 0.5, 0.5]).view(4, 1, 1, 1)) - torch.tensor([0.5, 0.5, -0.2, -0.2]).view(4, 1, 1, 1)
ell = (((xx - cx) / rx) ** 2 + ((yy - cy) / ry) ** 2 < 1).float()
box = (((xx - cx).abs() < rx) & ((yy - cy).abs() < ry)).float()
shape = torch.where(torch.rand(n, 1, 1) < 0.5, ell, box)
color = torch.rand(n, 3, 1, 1) * 2 - 1
images = shape.unsqueeze(1) * color + (1 - shape.unsqueeze(1)) * 0.3 * yy


# %% networks
def up(i, o):
    return nn.Sequential(nn.ConvTranspose2d(i, o, 4, 2, 1, bias=False), nn.BatchNorm2d(o), nn.ReLU(True))


def down(i, o):
    return nn.Sequential(nn.Conv2d(i, o, 4, 2, 1, bias=False), nn.BatchNorm2d(o), nn.LeakyReLU(0.2, True))


netG = nn.Sequential(
    nn.ConvTranspose2d(nz, ngf * 4, 4, 1, 0, bias=False),
    nn.BatchNorm2d(ngf * 4),
    nn.ReLU(True),
    up(ngf * 4, ngf * 2),
    up(ngf * 2, ngf),
    nn.ConvTranspose2d(ngf, 3, 4, 2, 1),
    nn.Tanh(),
)
netD = nn.Sequential(
    nn.Conv2d(3, ndf, 4, 2, 1),
    nn.LeakyReLU(0.2, True),
    down(ndf, ndf * 2),
    down(ndf * 2, ndf * 4),
    nn.Conv2d(ndf * 4, 1, 4, 1, 0),
    nn.Flatten(0),
)


def weights_init(m):
    if isinstance(m, (nn.Conv2d, nn.ConvTranspose2d)):
        nn.init.normal_(m.weight, 0.0, 0.02)
    elif isinstance(m, nn.BatchNorm2d):
        nn.init.normal_(m.weight, 1.0, 0.02)
        nn.init.zeros_(m.bias)


netG.apply(weights_init)
netD.apply(weights_init)

# %% training
optD = torch.optim.Adam(netD.parameters(), lr=2e-4, betas=(0.5, 0.999))
optG = torch.optim.Adam(netG.parameters(), lr=2e-4, betas=(0.5, 0.999))
fixed_noise = torch.randn(16, nz, 1, 1)
log = {"d": [], "g": []}


def bce(logits, target):
    return F.binary_cross_entropy_with_logits(logits, torch.full_like(logits, target))


start = time.time()
for it in range(iterations):
    real = images[torch.randint(0, n, (batch_size,))]
    fake = netG(torch.randn(batch_size, nz, 1, 1))

    # discriminator
    optD.zero_grad()
    lossD = bce(netD(real), 0.9) + bce(netD(fake), 0.0)
    lossD.backward(retain_graph=True)
    optD.step()

    # generator
    optG.zero_grad()
    lossG = bce(netD(fake), 1.0)
    lossG.backward()
    optG.step()

    log["d"].append(lossD.item())
    log["g"].append(lossG.item())
    if (it + 1) % 50 == 0:
        d = sum(log["d"][-50:]) / 50
        g = sum(log["g"][-50:]) / 50
        print(f"[{it + 1}/{iterations}] D {d:.3f} G {g:.3f} {(time.time() - start) / (it + 1) * 1e3:.0f} ms/it")

# %% look at the result
netG.eval()
with torch.no_grad():
    samples = netG(fixed_noise)
grid = samples.view(4, 4, 3, size, size).permute(2, 0, 3, 1, 4).reshape(3, 4 * size, 4 * size)
torch.save({"G": netG.state_dict(), "D": netD.state_dict(), "grid": grid, "log": log}, "dcgan.pt")
print("sample range", float(grid.min()), float(grid.max()))
