import time

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(11)
SIZE, N_TRAIN, N_VAL, BATCH, EPOCHS = 64, 960, 48, 8, 10


def cells(n, per_image=5):
    """Noisy images of overlapping elliptic cells and their masks."""
    grid = torch.linspace(-1, 1, SIZE)
    yy, xx = grid[None, None, :, None], grid[None, None, None, :]
    centre = torch.rand(2, n, per_image, 1, 1) * 1.6 - 0.8
    radius = torch.rand(2, n, per_image, 1, 1) * 0.22 + 0.10
    inside = (((yy - centre[0]) / radius[0]) ** 2 + ((xx - centre[1]) / radius[1]) ** 2).amin(1, keepdim=True) < 1
    mask = inside.float()
    shade = torch.randn(n, 1, 8, 8)
    shade = F.interpolate(shade, size=(SIZE, SIZE), mode="bilinear")
    image = 0.8 * mask + 0.5 * shade + 0.4 * torch.randn(n, 1, SIZE, SIZE)
    return image, mask


def double_conv(cin, cout):
    return nn.Sequential(
        nn.Conv2d(cin, cout, 3, padding=1, bias=False), nn.BatchNorm2d(cout), nn.ReLU(inplace=True),
        nn.Conv2d(cout, cout, 3, padding=1, bias=False), nn.BatchNorm2d(cout), nn.ReLU(inplace=True))


class UNet(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.enc1 = double_conv(1, width)
        self.enc2 = double_conv(width, 2 * width)
        self.mid = double_conv(2 * width, 4 * width)
        self.up2 = nn.ConvTranspose2d(4 * width, 2 * width, 2, stride=2)
        self.dec2 = double_conv(4 * width, 2 * width)
        self.up1 = nn.ConvTranspose2d(2 * width, width, 2, stride=2)
        self.dec1 = double_conv(2 * width, width)
        self.head = nn.Conv2d(width, 1, 1)

    def forward(self, x):
        a = self.enc1(x)
        b = self.enc2(F.max_pool2d(a, 2))
        c = self.mid(F.max_pool2d(b, 2))
        d = self.dec2(torch.cat([self.up2(c), b], 1))
        e = self.dec1(torch.cat([self.up1(d), a], 1))
        return self.head(e)


def dice_loss(logits, mask):
    p = logits.sigmoid().flatten(1)
    m = mask.flatten(1)
    return 1 - ((2 * (p * m).sum(1) + 1) / (p.sum(1) + m.sum(1) + 1)).mean()


def iou(model, images, masks):
    model.eval()
    hit = union = 0
    with torch.inference_mode():
        for x, y in zip(images.split(16), masks.split(16)):
            p, t = model(x) > 0, y > 0.5
            hit += (p & t).sum()
            union += (p | t).sum()
    model.train()
    return (hit / union).item()


images, masks = cells(N_TRAIN + N_VAL)
images = images.contiguous(memory_format=torch.channels_last)
train_x, val_x = images[:N_TRAIN], images[N_TRAIN:]
train_y, val_y = masks[:N_TRAIN], masks[N_TRAIN:]

net = UNet().to(memory_format=torch.channels_last)
optimizer = torch.optim.Adam(net.parameters(), lr=2e-3, fused=True)
print(f"{sum(p.numel() for p in net.parameters())} parameters, {N_TRAIN // BATCH} steps per epoch")

for epoch in range(EPOCHS):
    began = time.time()
    running = torch.zeros(())
    for index in torch.randperm(N_TRAIN).split(BATCH):
        x, y = train_x[index], train_y[index]
        logits = net(x)
        loss = F.binary_cross_entropy_with_logits(logits, y) + dice_loss(logits, y)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        running += loss.detach()
    print(f"epoch {epoch + 1}: loss {running.item() * BATCH / N_TRAIN:.4f}  IoU {iou(net, val_x, val_y):.4f}  {time.time() - began:.1f}s")
