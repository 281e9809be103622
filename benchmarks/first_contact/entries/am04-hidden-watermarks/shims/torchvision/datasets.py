"""ImageFolder as torchvision has it: classes are sub-folders, a picture is opened with PIL when it is asked for."""
import os

from PIL import Image
from torch.utils.data import Dataset

IMG_EXTENSIONS = (".jpg", ".jpeg", ".png", ".ppm", ".bmp", ".pgm", ".tif", ".tiff", ".webp")


def pil_loader(path):
    with open(path, "rb") as f:
        img = Image.open(f)
        return img.convert("RGB")


class ImageFolder(Dataset):
    def __init__(self, root, transform=None, target_transform=None, loader=pil_loader):
        classes = sorted(entry.name for entry in os.scandir(root) if entry.is_dir())
        self.root = root
        self.classes = classes
        self.class_to_idx = {name: i for i, name in enumerate(classes)}
        self.transform = transform
        self.target_transform = target_transform
        self.loader = loader
        self.samples = []
        for name in classes:
            for folder, _, files in sorted(os.walk(os.path.join(root, name), followlinks=True)):
                for file in sorted(files):
                    if file.lower().endswith(IMG_EXTENSIONS):
                        self.samples.append((os.path.join(folder, file), self.class_to_idx[name]))
        self.imgs = self.samples

    def __getitem__(self, index):
        path, target = self.samples[index]
        sample = self.loader(path)
        if self.transform is not None:
            sample = self.transform(sample)
        if self.target_transform is not None:
            target = self.target_transform(target)
        return sample, target

    def __len__(self):
        return len(self.samples)
