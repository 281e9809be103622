import torch
from torch.utils.data import Dataset

from features import halfkp


class PositionSet(Dataset):
    """Lines of `fen;centipawns;result`, scores from white's point of view."""

    def __init__(self, path):
        with open(path) as f:
            self.lines = f.read().splitlines()

    def __len__(self):
        return len(self.lines)

    def __getitem__(self, index):
        fen, score, result = self.lines[index].split(";")
        white, black, stm = halfkp(fen)
        return white, black, stm, float(score), float(result)


def collate(samples):
    whites, blacks, stm, score, result = zip(*samples)
    counts = torch.tensor([0] + [len(w) for w in whites[:-1]])
    return (
        torch.tensor([i for w in whites for i in w]),
        torch.tensor([i for b in blacks for i in b]),
        counts.cumsum(0),
        torch.tensor(stm).unsqueeze(1),
        torch.tensor(score).unsqueeze(1),
        torch.tensor(result).unsqueeze(1),
    )
