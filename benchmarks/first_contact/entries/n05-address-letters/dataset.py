import string

import torch
from torch.utils.data import Dataset


class AddressDataset(Dataset):
    alphabet = string.ascii_letters + string.digits + "-._~:/?#[]@!$&'()*+,;=%"

    def __init__(self, rows, length):
        self.texts = [text for text, _ in rows]
        self.labels = torch.tensor([label for _, label in rows], dtype=torch.float32)
        self.length = length

    def __len__(self):
        return len(self.texts)

    def encode(self, text):
        matrix = torch.zeros(len(self.alphabet), self.length)
        for place, letter in enumerate(text[: self.length]):
            if letter in self.alphabet:
                matrix[self.alphabet.index(letter), place] = 1.0
        return matrix

    def __getitem__(self, index):
        return self.encode(self.texts[index]), self.labels[index]

    def positive_share(self):
        return self.labels.mean().item()
