"""Train a ResNet-50 on pictures, as before.py does, with its plan made by hand."""

import random
import time

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

CUDA = torch.cuda.is_available()
DEVICE = "cuda" if CUDA else "cpu"
DEPTHS, WIDTH, SIZE = ((3, 4, 6, 3), 64, 224) if CUDA else ((1,), 8, 96)
BATCH, STEPS, KINDS = (64, 300, 1000) if CUDA else (8, 400, 10)
WORKERS, EVERY = (8 if CUDA else 1), 100


class Pictures(Dataset):
    """Made-up pictures, as a decoder leaves them: cropped, flipped, brightened and normalised anew each time they are asked for."""

    MEAN, DEVIATION = np.array([0.485, 0.456, 0.406]), np.array([0.229, 0.224, 0.225])

    def __init__(self):
        side = SIZE * 8 // 7
        self.pictures = np.random.default_rng(0).integers(0, 256, (256, side, side, 3), dtype=np.uint8)

    def __len__(self):
        return BATCH * (STEPS + 1)

    def __getitem__(self, row):
        picture = self.pictures[row % len(self.pictures)]
        top, left = random.randint(0, picture.shape[0] - SIZE), random.randint(0, picture.shape[1] - SIZE)
        picture = picture[top : top + SIZE, left : left + SIZE]
        if random.random() < 0.5:
            picture = picture[:, ::-1]
        picture = np.clip(picture / 255 * random.uniform(0.8, 1.2), 0, 1)
        picture = (picture - self.MEAN) / self.DEVIATION
        return torch.tensor(picture.transpose(2, 0, 1).astype(np.float32)), row % KINDS


class Bottleneck(nn.Module):
    def __init__(self, before, width, stride):
        super().__init__()
        after = 4 * width
        self.conv1, self.norm1 = nn.Conv2d(before, width, 1), nn.BatchNorm2d(width)
        self.conv2, self.norm2 = nn.Conv2d(width, width, 3, stride, padding=1), nn.BatchNorm2d(width)
        self.conv3, self.norm3 = nn.Conv2d(width, after, 1), nn.BatchNorm2d(after)
        self.relu = nn.ReLU()
        self.shortcut = nn.Identity()
        if stride != 1 or before != after:
            self.shortcut = nn.Sequential(nn.Conv2d(before, after, 1, stride), nn.BatchNorm2d(after))

    def forward(self, maps):
        inner = self.relu(self.norm1(self.conv1(maps)))
        inner = self.relu(self.norm2(self.conv2(inner)))
        return self.relu(self.norm3(self.conv3(inner)) + self.shortcut(maps))


class ResNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, WIDTH, 7, 2, padding=3), nn.BatchNorm2d(WIDTH), nn.ReLU(), nn.MaxPool2d(3, 2, padding=1))
        blocks, before = [], WIDTH
        for stage, depth in enumerate(DEPTHS):
            width = WIDTH * 2**stage
            for number in range(depth):
                blocks.append(Bottleneck(before, width, 2 if stage and not number else 1))
                before = 4 * width
        self.blocks = nn.Sequential(*blocks)
        self.head = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(before, KINDS))

    def forward(self, pictures):
        return self.head(self.blocks(self.stem(pictures)))


def main():
    torch.manual_seed(0)
    random.seed(0)
    torch.set_float32_matmul_precision("high")
    torch.backends.cudnn.benchmark = True
    loader = DataLoader(
        Pictures(), batch_size=BATCH, shuffle=True, drop_last=True, num_workers=WORKERS, persistent_workers=True, pin_memory=CUDA
    )
    model = ResNet().to(DEVICE, memory_format=torch.channels_last if CUDA else torch.preserve_format)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, weight_decay=1e-4, fused=True)
    criterion = nn.CrossEntropyLoss()

    total, right = torch.zeros((), device=DEVICE), torch.zeros((), device=DEVICE)
    started, step = time.perf_counter(), 0
    for pictures, kinds in loader:
        pictures, kinds = pictures.to(DEVICE, non_blocking=True), kinds.to(DEVICE, non_blocking=True)
        with torch.autocast(DEVICE, torch.bfloat16, enabled=CUDA):
            outputs = model(pictures.contiguous(memory_format=torch.channels_last) if CUDA else pictures)
            loss = criterion(outputs, kinds)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        right += (outputs.argmax(dim=1) == kinds).sum()
        total += loss.detach()
        step += 1
        if step % EVERY == 0:
            print(f"step {step}: mean loss {total.item() / step:.4f}")
        if step == STEPS:
            break
    elapsed = time.perf_counter() - started

    size = sum(parameter.numel() for parameter in model.parameters())
    share = right.item() / (step * BATCH)
    print(f"{size:,} weights, {step} steps, {1000 * elapsed / step:.1f} ms a step, mean loss {total.item() / step:.4f}, {share:.1%} right")


if __name__ == "__main__":
    main()
