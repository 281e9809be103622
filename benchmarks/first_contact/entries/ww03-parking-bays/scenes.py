import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset


class Scenes(Dataset):
    """Pictures of car parks; a target row is (kind, cx, cy, w, h), all but the kind relative to the picture."""

    def __init__(self, path, augment=False):
        with np.load(path) as data:
            self.pictures = torch.from_numpy(data["pictures"]).permute(0, 3, 1, 2).contiguous()
            boxes = torch.from_numpy(data["boxes"])
            self.boxes = [rows[:count] for rows, count in zip(boxes, data["counts"].tolist())]
        self.augment = augment

    def __len__(self):
        return len(self.boxes)

    def __getitem__(self, index):
        picture = self.pictures[index].float().div_(255)
        boxes = self.boxes[index][:, [4, 0, 1, 2, 3]]
        if self.augment:
            if torch.rand(()) < 0.5:
                picture = picture.flip(2)
                boxes[:, 1] = 1 - boxes[:, 1]
            picture = picture * (0.8 + 0.4 * torch.rand(()))
        return picture, boxes


def collate(batch):
    """Stacks the pictures and joins the boxes, each with the number of its picture in front."""
    pictures = torch.stack([picture for picture, _ in batch])
    rows = []
    for number, (_, boxes) in enumerate(batch):
        rows.append(torch.cat([torch.full((len(boxes), 1), float(number)), boxes], dim=1))
    return pictures, torch.cat(rows)


def loaders(folder, batch_size):
    train = DataLoader(Scenes(f"{folder}/train.npz", augment=True), batch_size, shuffle=True,
                       collate_fn=collate, drop_last=True)
    val = DataLoader(Scenes(f"{folder}/val.npz"), batch_size, collate_fn=collate)
    return train, val
