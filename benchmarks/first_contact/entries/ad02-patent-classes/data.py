import json
from collections import Counter

import torch
from torch.utils.data import DataLoader, Dataset

PAD, UNK = 0, 1


def read_jsonl(path):
    with open(path) as f:
        return [json.loads(line) for line in f]


def build_vocab(records, size):
    counts = Counter(word for r in records for word in r["text"].split())
    return {word: i + 2 for i, (word, _) in enumerate(counts.most_common(size - 2))}


class AbstractDataset(Dataset):
    def __init__(self, records, vocab, max_len, num_classes):
        self.samples = []
        for r in records:
            ids = [vocab.get(word, UNK) for word in r["text"].split()][:max_len]
            target = torch.zeros(num_classes)
            target[r["labels"]] = 1.0
            self.samples.append((torch.tensor(ids), target))

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, i):
        return self.samples[i]


class Collator:
    def __init__(self, max_len):
        self.max_len = max_len

    def __call__(self, samples):
        tokens = torch.full((len(samples), self.max_len), PAD)
        for row, (ids, _) in zip(tokens, samples):
            row[: len(ids)] = ids
        return tokens, torch.stack([target for _, target in samples])


def make_loaders(cfg):
    train, val = read_jsonl(cfg["train_file"]), read_jsonl(cfg["val_file"])
    vocab = build_vocab(train, cfg["vocab_size"])
    collate = Collator(cfg["max_len"])
    sets = [AbstractDataset(r, vocab, cfg["max_len"], cfg["num_classes"]) for r in (train, val)]
    return (
        DataLoader(sets[0], cfg["batch_size"], shuffle=True, drop_last=True, collate_fn=collate),
        DataLoader(sets[1], 2 * cfg["batch_size"], collate_fn=collate),
    )
