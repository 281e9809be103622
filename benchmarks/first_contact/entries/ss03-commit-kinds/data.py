import json

import torch
from torch.utils.data import Dataset

KINDS = ["feat", "fix", "docs", "refactor", "test", "perf", "chore", "revert"]


def read_commits(path):
    with open(path) as f:
        rows = [json.loads(line) for line in f]
    return [r["message"] for r in rows], [KINDS.index(r["kind"]) for r in rows]


class CommitDataset(Dataset):
    def __init__(self, messages, labels, tokenizer, max_length):
        self.messages = messages
        self.labels = labels
        self.tokenizer = tokenizer
        self.max_length = max_length

    def __len__(self):
        return len(self.messages)

    def __getitem__(self, idx):
        ids, mask = self.tokenizer.encode(self.messages[idx], self.max_length)
        return {
            "input_ids": torch.tensor(ids, dtype=torch.long),
            "attention_mask": torch.tensor(mask, dtype=torch.bool),
            "label": torch.tensor(self.labels[idx], dtype=torch.long),
        }
