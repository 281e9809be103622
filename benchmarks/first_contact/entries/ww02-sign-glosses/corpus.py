"""Vocabulary, data set and batches of gloss/sentence pairs."""
from collections import Counter

import torch
from torch.utils.data import DataLoader, Dataset

PAD, BOS, EOS, UNK = 0, 1, 2, 3
SPECIALS = ["<pad>", "<s>", "</s>", "<unk>"]


class Vocab:
    def __init__(self, sentences, min_count=1):
        counts = Counter(word for sentence in sentences for word in sentence)
        self.words = SPECIALS + sorted(word for word, count in counts.items() if count >= min_count)
        self.index = {word: number for number, word in enumerate(self.words)}

    def __len__(self):
        return len(self.words)

    def encode(self, sentence):
        return [self.index.get(word, UNK) for word in sentence]

    def decode(self, ids):
        words = []
        for number in ids:
            if number == EOS:
                break
            if number not in (PAD, BOS):
                words.append(self.words[number])
        return " ".join(words)


def read_pairs(path):
    pairs = []
    with open(path) as file:
        for line in file:
            gloss, text = line.rstrip("\n").split("\t")
            pairs.append((gloss.split(), text.split()))
    return pairs


class GlossDataset(Dataset):
    """Pairs as padded index tensors of the length max_len."""

    def __init__(self, pairs, source_vocab, target_vocab, max_len):
        self.items = []
        for gloss, text in pairs:
            source = source_vocab.encode(gloss)[: max_len - 1] + [EOS]
            target = [BOS] + target_vocab.encode(text)[: max_len - 2] + [EOS]
            self.items.append((self.pad(source, max_len), self.pad(target, max_len)))

    @staticmethod
    def pad(ids, length):
        return torch.tensor(ids + [PAD] * (length - len(ids)), dtype=torch.long)

    def __len__(self):
        return len(self.items)

    def __getitem__(self, index):
        return self.items[index]


def build(folder, batch_size, max_len):
    train = read_pairs(f"{folder}/train.tsv")
    dev = read_pairs(f"{folder}/dev.tsv")
    source_vocab = Vocab(gloss for gloss, _ in train)
    target_vocab = Vocab(text for _, text in train)
    train_set = GlossDataset(train, source_vocab, target_vocab, max_len)
    dev_set = GlossDataset(dev, source_vocab, target_vocab, max_len)
    train_loader = DataLoader(train_set, batch_size=batch_size, shuffle=True, drop_last=True)
    dev_loader = DataLoader(dev_set, batch_size=batch_size)
    return train_loader, dev_loader, source_vocab, target_vocab, dev
