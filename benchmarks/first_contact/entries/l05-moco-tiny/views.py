"""Two random views of a batch of images, computed for the whole batch at once."""
import torch
import torch.nn.functional as F


def random_crop(x, pad=4):
    n, c, h, w = x.shape
    padded = F.pad(x, [pad] * 4, mode="reflect")
    dy = torch.randint(0, 2 * pad + 1, (n, 1)) + torch.arange(h)
    dx = torch.randint(0, 2 * pad + 1, (n, 1)) + torch.arange(w)
    rows = torch.arange(n)[:, None, None]
    return padded.permute(0, 2, 3, 1)[rows, dy[:, :, None], dx[:, None, :]].permute(0, 3, 1, 2).contiguous()


def random_flip(x):
    flip = torch.rand(x.shape[0]) < 0.5
    return torch.where(flip[:, None, None, None], x.flip(-1), x)


def color_jitter(x, strength=0.4):
    n = x.shape[0]
    scale = 1 + strength * (2 * torch.rand(n, 3, 1, 1) - 1)
    shift = 0.2 * strength * (2 * torch.rand(n, 3, 1, 1) - 1)
    return x * scale + shift


def drop_color(x, p=0.2):
    gray = x.mean(1, keepdim=True)
    pick = torch.rand(x.shape[0], 1, 1, 1) < p
    return torch.where(pick, gray, x)


def view(x):
    return drop_color(color_jitter(random_flip(random_crop(x))))
