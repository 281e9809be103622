"""The five transforms that are used, on PIL pictures and tensors, as torchvision does them."""
import numpy as np
import torch
from PIL import ImageOps


class Compose:
    def __init__(self, transforms):
        self.transforms = transforms

    def __call__(self, img):
        for t in self.transforms:
            img = t(img)
        return img


class RandomCrop:
    def __init__(self, size, pad_if_needed=False):
        self.size = size
        self.pad_if_needed = pad_if_needed

    def __call__(self, img):
        th, tw = self.size
        w, h = img.size
        if self.pad_if_needed and w < tw:
            img = ImageOps.expand(img, border=(tw - w, 0), fill=0)
        if self.pad_if_needed and h < th:
            img = ImageOps.expand(img, border=(0, th - h), fill=0)
        w, h = img.size
        i = int(torch.randint(0, h - th + 1, size=(1,)).item())
        j = int(torch.randint(0, w - tw + 1, size=(1,)).item())
        return img.crop((j, i, j + tw, i + th))


class CenterCrop:
    def __init__(self, size):
        self.size = size

    def __call__(self, img):
        th, tw = self.size
        w, h = img.size
        i, j = int(round((h - th) / 2.0)), int(round((w - tw) / 2.0))
        return img.crop((j, i, j + tw, i + th))


class ToTensor:
    def __call__(self, pic):
        img = torch.from_numpy(np.array(pic, np.uint8, copy=True))
        img = img.view(pic.size[1], pic.size[0], len(pic.getbands()))
        img = img.permute((2, 0, 1)).contiguous()
        return img.to(dtype=torch.get_default_dtype()).div(255)


class Normalize:
    def __init__(self, mean, std, inplace=False):
        self.mean = mean
        self.std = std
        self.inplace = inplace

    def __call__(self, tensor):
        if not self.inplace:
            tensor = tensor.clone()
        mean = torch.as_tensor(self.mean, dtype=tensor.dtype, device=tensor.device).view(-1, 1, 1)
        std = torch.as_tensor(self.std, dtype=tensor.dtype, device=tensor.device).view(-1, 1, 1)
        return tensor.sub_(mean).div_(std)
