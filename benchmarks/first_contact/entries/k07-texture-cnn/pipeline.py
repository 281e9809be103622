import numpy as np
import torch


def make_textures(n, size=40, classes=10, seed=0):
    """oriented gratings with coloured noise; uint8 (n, 3, size, size), channels-last strides"""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, classes, n)
    yy, xx = np.mgrid[:size, :size].astype(np.float32)
    images = np.empty((n, size, size, 3), dtype=np.uint8)
    for lo in range(0, n, 500):
        y = labels[lo:lo + 500]
        m = len(y)
        angle = (y * np.pi / classes + rng.normal(0, 0.08, m))[:, None, None]
        freq = rng.uniform(0.35, 0.55, m)[:, None, None]
        phase = rng.uniform(0, 6.28, m)[:, None, None]
        wave = np.sin(freq * (xx * np.cos(angle) + yy * np.sin(angle)) + phase)
        tint = rng.uniform(20, 60, (m, 1, 1, 3))
        block = 128 + wave[..., None] * tint + rng.normal(0, 40, (m, size, size, 3))
        images[lo:lo + m] = block.clip(0, 255)
    return torch.from_numpy(images).permute(0, 3, 1, 2), torch.from_numpy(labels)


class BatchPipeline:
    """Whole data set in memory as bytes; crops, turns (by half a turn) and scales one batch at a time."""

    def __init__(self, images, labels, batch_size, crop, train, seed=0):
        self.images, self.labels = images, labels
        self.batch_size, self.crop, self.train = batch_size, crop, train
        self.gen = torch.Generator().manual_seed(seed)
        stats = images[:1000].float()
        self.scale = (1.0 / stats.std((0, 2, 3))).view(1, 3, 1, 1)
        self.shift = (-stats.mean((0, 2, 3))).view(1, 3, 1, 1) * self.scale

    def __len__(self):
        return len(self.images) // self.batch_size if self.train else -(-len(self.images) // self.batch_size)

    def __iter__(self):
        n, slack = len(self.images), self.images.shape[-1] - self.crop
        order = torch.randperm(n, generator=self.gen) if self.train else torch.arange(n)
        for b in range(len(self)):
            idx = order[b * self.batch_size:(b + 1) * self.batch_size]
            if self.train:
                top, left, turn = torch.randint(0, 1 << 16, (3,), generator=self.gen).tolist()
                top, left, turn = top % (slack + 1), left % (slack + 1), turn % 2
            else:
                top = left = slack // 2
                turn = 0
            x = self.images[:, :, top:top + self.crop, left:left + self.crop][idx]
            if turn:
                x = x.flip(-2, -1)
            yield torch.addcmul(self.shift, x, self.scale).contiguous(memory_format=torch.channels_last), self.labels[idx]
