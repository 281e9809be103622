import numpy as np
import torch


class CropLoader:
    """Random crops with random flips out of pictures that are held in memory."""

    def __init__(self, path, crop, batch_size, seed=0):
        self.pictures = torch.from_numpy(np.load(path))
        self.crop, self.batch_size = crop, batch_size
        self.generator = torch.Generator().manual_seed(seed)

    def __len__(self):
        return len(self.pictures) // self.batch_size

    def __iter__(self):
        n, _, height, width = self.pictures.shape
        order = torch.randperm(n, generator=self.generator).tolist()
        for i in range(len(self)):
            crops = []
            for j in order[i * self.batch_size : (i + 1) * self.batch_size]:
                top = torch.randint(0, height - self.crop + 1, (1,), generator=self.generator).item()
                left = torch.randint(0, width - self.crop + 1, (1,), generator=self.generator).item()
                crop = self.pictures[j, :, top : top + self.crop, left : left + self.crop]
                if torch.rand(1, generator=self.generator).item() < 0.5:
                    crop = crop.flip(-1)
                crops.append(crop)
            yield torch.stack(crops).float().div_(255).contiguous(memory_format=torch.channels_last)
