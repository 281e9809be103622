import json
from collections import Counter

import torch
from torch.utils.data import Dataset

PAD, UNK, BOS, EOS = 0, 1, 2, 3
SPECIAL = ["<pad>", "<unk>", "<bos>", "<eos>"]


class Vocab:
    def __init__(self, words):
        self.words = SPECIAL + words
        self.ids = {w: i for i, w in enumerate(self.words)}

    @classmethod
    def build(cls, texts, size):
        counts = Counter(w for text in texts for w in text.split())
        return cls([w for w, _ in counts.most_common(size - len(SPECIAL))])

    def __len__(self):
        return len(self.words)

    def encode(self, words):
        return [self.ids.get(w, UNK) for w in words]


def read(path):
    with open(path) as f:
        return [json.loads(line) for line in f]


class NewsDataset(Dataset):
    """Ids of article and headline; words outside the vocabulary get temporary ids after it."""

    def __init__(self, records, vocab, max_src, max_tgt):
        self.items = []
        for r in records:
            src = r["article"].split()[:max_src]
            tgt = r["headline"].split()[: max_tgt - 1]
            oov = []
            src_ext = []
            for w in src:
                if w in vocab.ids:
                    src_ext.append(vocab.ids[w])
                else:
                    if w not in oov:
                        oov.append(w)
                    src_ext.append(len(vocab) + oov.index(w))
            tgt_ext = [vocab.ids.get(w, len(vocab) + oov.index(w) if w in oov else UNK) for w in tgt]
            self.items.append({
                "src": vocab.encode(src),
                "src_ext": src_ext,
                "tgt_in": [BOS] + vocab.encode(tgt),
                "tgt_out": tgt_ext + [EOS],
                "oov": oov,
                "headline": tgt,
            })

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


class Collate:
    def __init__(self, max_src, max_tgt):
        self.max_src = max_src
        self.max_tgt = max_tgt

    def __call__(self, items):
        def pad(key, length):
            return torch.tensor([it[key] + [PAD] * (length - len(it[key])) for it in items])

        return {
            "src": pad("src", self.max_src),
            "src_ext": pad("src_ext", self.max_src),
            "tgt_in": pad("tgt_in", self.max_tgt),
            "tgt_out": pad("tgt_out", self.max_tgt),
            "extra": max(len(it["oov"]) for it in items),
        }
