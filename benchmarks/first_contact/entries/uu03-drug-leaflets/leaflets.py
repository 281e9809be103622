"""Sentences of package leaflets and the organ system whose side effects they name."""
import csv
import json

import torch
from torch.utils.data import Dataset

PAD, UNK, CLS, SEP = range(4)


class Tokenizer:
    def __init__(self, path, max_length=128):
        with open(path) as f:
            self.words = json.load(f)
        self.index = {word: number for number, word in enumerate(self.words)}
        self.max_length = max_length

    def __len__(self):
        return len(self.words)

    def encode(self, sentence):
        ids = [self.index.get(word, UNK) for word in sentence.lower().split()]
        return [CLS] + ids[:self.max_length - 2] + [SEP]


class LeafletDataset(Dataset):
    """Training sentences lose some of their words at random (word dropout)."""

    def __init__(self, path, split, tokenizer, systems=None, word_dropout=0.1):
        with open(path, newline="") as f:
            rows = [row for row in csv.DictReader(f) if row["split"] == split]
        self.systems = systems or sorted({row["system"] for row in rows})
        self.sentences = [torch.tensor(tokenizer.encode(row["sentence"])) for row in rows]
        self.labels = [self.systems.index(row["system"]) for row in rows]
        self.max_length = tokenizer.max_length
        self.word_dropout = word_dropout if split == "train" else 0.0

    def __len__(self):
        return len(self.sentences)

    def __getitem__(self, index):
        ids = self.sentences[index]
        if self.word_dropout:
            lost = torch.rand(len(ids)) < self.word_dropout
            lost[0] = lost[-1] = False
            ids = ids.masked_fill(lost, UNK)
        padded = torch.full((self.max_length,), PAD)
        padded[:len(ids)] = ids
        mask = torch.zeros(self.max_length, dtype=torch.long)
        mask[:len(ids)] = 1
        return {"input_ids": padded, "attention_mask": mask, "label": self.labels[index]}
