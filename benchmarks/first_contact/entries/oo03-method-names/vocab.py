import json
from collections import Counter

PAD, UNK = "<pad>", "<unk>"


class Vocab:
    def __init__(self, items):
        self.itos = list(items)
        self.stoi = {s: i for i, s in enumerate(self.itos)}
        self.unk = self.stoi.get(UNK)

    def __len__(self):
        return len(self.itos)

    def __getitem__(self, item):
        return self.stoi.get(item, self.unk)

    @classmethod
    def from_counter(cls, counter, min_count=1, specials=(PAD, UNK)):
        return cls(list(specials) + [s for s, c in sorted(counter.items(), key=lambda kv: (-kv[1], kv[0])) if c >= min_count])


def build_vocabs(path, min_count):
    tokens, paths, targets = Counter(), Counter(), Counter()
    with open(path) as f:
        for line in f:
            target, *contexts = line.split()
            targets[target] += 1
            for context in contexts:
                left, middle, right = context.split(",")
                tokens[left] += 1
                tokens[right] += 1
                paths[middle] += 1
    return Vocab.from_counter(tokens, min_count), Vocab.from_counter(paths, min_count), Vocab.from_counter(targets, specials=(UNK,))


def save_vocabs(path, **vocabs):
    with open(path, "w") as f:
        json.dump({name: v.itos for name, v in vocabs.items()}, f)
