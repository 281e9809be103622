import torch
import torch.nn.functional as F


class BatchAugment:
    """random resized crop + flip + colour jitter + noise for a whole batch at once"""

    def __init__(self, size=32, scale=(0.4, 1.0), jitter=0.4, noise=0.03):
        self.size, self.scale, self.jitter, self.noise = size, scale, jitter, noise

    def __call__(self, x):
        b = x.size(0)
        s = torch.empty(b).uniform_(*self.scale).sqrt()
        flip = torch.where(torch.rand(b) < 0.5, -1.0, 1.0)
        shift = (torch.rand(b, 2) * 2 - 1) * (1 - s)[:, None]
        theta = torch.zeros(b, 2, 3)
        theta[:, 0, 0] = s * flip
        theta[:, 1, 1] = s
        theta[:, :, 2] = shift
        grid = F.affine_grid(theta, (b, x.size(1), self.size, self.size), align_corners=False)
        x = F.grid_sample(x, grid, mode="bilinear", align_corners=False)
        gain = 1 + self.jitter * (torch.rand(b, x.size(1), 1, 1) * 2 - 1)
        bias = 0.5 * self.jitter * (torch.rand(b, x.size(1), 1, 1) * 2 - 1)
        return x.mul_(gain).add_(bias).add_(torch.randn_like(x), alpha=self.noise)
