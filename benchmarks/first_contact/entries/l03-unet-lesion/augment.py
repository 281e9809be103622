"""Augmentation for 2-D slices: flips, gamma, noise and elastic deformation."""
import torch
import torch.nn.functional as F


def gaussian_kernel(sigma):
    radius = int(3 * sigma + 0.5)
    x = torch.arange(-radius, radius + 1, dtype=torch.float32)
    k = torch.exp(-0.5 * (x / sigma) ** 2)
    return k / k.sum()


class Elastic:
    """Random smooth displacement (Simard et al. 2003)."""

    def __init__(self, size, alpha=60.0, sigma=6.0):
        self.size = size
        self.alpha = alpha
        k = gaussian_kernel(sigma)
        self.kernel = torch.outer(k, k)[None, None]
        self.pad = k.numel() // 2
        ys, xs = torch.meshgrid(torch.linspace(-1, 1, size), torch.linspace(-1, 1, size), indexing="ij")
        self.grid = torch.stack([xs, ys], -1)[None]

    def __call__(self, image, mask):
        noise = torch.rand(2, 1, self.size, self.size) * 2 - 1
        field = F.conv2d(F.pad(noise, [self.pad] * 4), self.kernel)
        shift = field.squeeze(1).permute(1, 2, 0) * (self.alpha * 2 / self.size)
        grid = self.grid + shift[None]
        image = F.grid_sample(image[None], grid, mode="bilinear", padding_mode="reflection", align_corners=True)[0]
        mask = F.grid_sample(mask[None], grid, mode="nearest", align_corners=True)[0]
        return image, mask


class Augment:
    def __init__(self, size):
        self.elastic = Elastic(size)

    def __call__(self, image, mask):
        if torch.rand(()) < 0.5:
            image, mask = image.flip(-1), mask.flip(-1)
        if torch.rand(()) < 0.5:
            image, mask = image.flip(-2), mask.flip(-2)
        image, mask = self.elastic(image, mask)
        gamma = 0.7 + 0.6 * torch.rand(())
        image = image.clamp(0, 1) ** gamma
        image = image + 0.03 * torch.randn_like(image)
        return image, mask
