import argparse
import time

import torch
from torch import nn
from torch.nn import functional as F


def make_weaves(count, size, generator):
    """Ten kinds of woven texture: direction, period and colour phase differ."""
    kind = torch.randint(10, (count,), generator=generator)
    grid = torch.linspace(-1, 1, size)
    yy, xx = torch.meshgrid(grid, grid, indexing="ij")
    angle = kind.float() * 0.314 + 0.15 * torch.randn(count, generator=generator)
    period = 6 + 2.5 * (kind % 3) + 0.8 * torch.randn(count, generator=generator)
    shift = 6.28 * torch.rand(count, 1, 1, generator=generator)
    along = angle.cos()[:, None, None] * xx + angle.sin()[:, None, None] * yy
    wave = torch.sin(period[:, None, None] * along + shift)
    channels = [wave, torch.sin(1.5 * period[:, None, None] * along), wave * xx]
    images = torch.stack(channels, 1)
    images += 0.7 * torch.randn(images.shape, generator=generator)
    return images, kind


def to_patches(images, side):
    n, c, h, w = images.shape
    tiles = images.unfold(2, side, side).unfold(3, side, side)
    return tiles.permute(0, 2, 3, 1, 4, 5).reshape(n, -1, c * side * side).contiguous()


class Block(nn.Module):
    def __init__(self, tokens, width, token_hidden, hidden):
        super().__init__()
        self.norm_tokens = nn.LayerNorm(width)
        self.mix_tokens = nn.Sequential(nn.Linear(tokens, token_hidden), nn.ReLU(), nn.Linear(token_hidden, tokens))
        self.norm_channels = nn.LayerNorm(width)
        self.mix_channels = nn.Sequential(nn.Linear(width, hidden), nn.ReLU(), nn.Linear(hidden, width))

    def forward(self, x):
        x = x + self.mix_tokens(self.norm_tokens(x).transpose(1, 2)).transpose(1, 2)
        return x + self.mix_channels(self.norm_channels(x))


class Mixer(nn.Module):
    def __init__(self, tokens, patch_dim, classes, width=128, depth=4, token_hidden=48, hidden=320):
        super().__init__()
        self.embed = nn.Linear(patch_dim, width)
        self.blocks = nn.Sequential(*[Block(tokens, width, token_hidden, hidden) for _ in range(depth)])
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, classes)

    def forward(self, patches):
        x = self.blocks(self.embed(patches))
        return self.head(self.norm(x).mean(1))


@torch.inference_mode()
def accuracy(model, patches, labels, batch=200):
    model.eval()
    right = sum((model(p).argmax(1) == y).sum() for p, y in zip(patches.split(batch), labels.split(batch)))
    model.train()
    return right.item() / len(labels)


def main():
    parser = argparse.ArgumentParser(description="MLP-Mixer on woven textures")
    parser.add_argument("--epochs", type=int, default=7)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--images", type=int, default=4800)
    parser.add_argument("--lr", type=float, default=1e-3)
    args = parser.parse_args()

    generator = torch.Generator().manual_seed(11)
    torch.manual_seed(11)
    images, labels = make_weaves(args.images, 32, generator)
    patches = to_patches(images, 4)
    del images
    held = args.images // 12
    train_x, train_y = patches[held:], labels[held:]
    valid_x, valid_y = patches[:held], labels[:held]

    model = Mixer(patches.shape[1], patches.shape[2], 10)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.02, fused=True)
    per_epoch = len(train_x) // args.batch_size
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, args.lr, total_steps=args.epochs * per_epoch)
    print(f"{sum(p.numel() for p in model.parameters())} parameters, {per_epoch} steps an epoch")

    began = time.time()
    for epoch in range(args.epochs):
        total = torch.zeros(())
        order = torch.randperm(len(train_x))
        for pick in order[: per_epoch * args.batch_size].split(args.batch_size):
            loss = F.cross_entropy(model(train_x[pick]), train_y[pick], label_smoothing=0.05)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            total += loss.detach()
        print(f"epoch {epoch + 1}: loss {total.item() / per_epoch:.3f}, "
              f"held out {accuracy(model, valid_x, valid_y):.3f}, {time.time() - began:.0f} s")


if __name__ == "__main__":
    main()
