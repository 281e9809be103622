# Fits one picture by a coordinate network on random Fourier features.
import math
import time

import torch
from torch import nn

side = 128
features = 64
width = 256
hidden_layers = 3
points = 1024
steps = 2000
check_every = 500

torch.manual_seed(3)

# the picture: overlapping soft discs on a striped ground
axis = torch.linspace(0, 1, side)
yy, xx = torch.meshgrid(axis, axis, indexing="ij")
picture = torch.stack([0.5 + 0.3 * torch.sin(30 * xx + k) * torch.cos(17 * yy - k) for k in range(3)], dim=-1)
for _ in range(60):
    cx, cy, radius = torch.rand(3).tolist()
    radius = 0.02 + 0.1 * radius
    cover = torch.sigmoid((radius - ((xx - cx) ** 2 + (yy - cy) ** 2).sqrt()) * 200)[..., None]
    picture = picture * (1 - cover) + torch.rand(3) * cover
colours = picture.reshape(-1, 3).contiguous()

# Fourier features of every pixel, once
frequencies = 8.0 * torch.randn(2, features // 2)
phase = 2 * math.pi * torch.stack([xx.flatten(), yy.flatten()], dim=1) @ frequencies
encoded = torch.cat([phase.sin(), phase.cos()], dim=1)

layers = [nn.Linear(features, width), nn.ReLU(inplace=True)]
for _ in range(hidden_layers):
    layers += [nn.Linear(width, width), nn.ReLU(inplace=True)]
field = nn.Sequential(*layers, nn.Linear(width, 3), nn.Sigmoid())

optimizer = torch.optim.Adam(field.parameters(), lr=2e-3, fused=True)
schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)


@torch.inference_mode()
def psnr():
    error = torch.zeros(())
    for inputs, wanted in zip(encoded.split(4096), colours.split(4096)):
        error += (field(inputs) - wanted).square().sum()
    return -10 * math.log10(error.item() / colours.numel())


print(f"{side}x{side} pixels, {sum(p.numel() for p in field.parameters())} weights")
began = time.perf_counter()
running = torch.zeros(())
for step in range(1, steps + 1):
    chosen = torch.randint(side * side, (points,))
    loss = (field(encoded[chosen]) - colours[chosen]).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    schedule.step()
    running += loss.detach()
    if step % check_every == 0:
        print(f"{step:5d}  loss {running.item() / check_every:.5f}  psnr {psnr():.2f} dB  "
              f"{time.perf_counter() - began:.1f} s")
        running.zero_()
