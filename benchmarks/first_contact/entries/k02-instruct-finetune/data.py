import random

import torch

PAD, BOS, SEP, EOS = 0, 1, 2, 3


class InstructionData(torch.utils.data.Dataset):
    """prompt -> short answer: copy, reverse or pick from a list of word ids given in the prompt"""

    def __init__(self, n, vocab, seed):
        rng = random.Random(seed)
        self.rows = []
        for _ in range(n):
            words = [rng.randrange(20, vocab) for _ in range(rng.randint(24, 90))]
            task = rng.randrange(3)
            k = rng.randint(4, 14)
            answer = words[:k] if task == 0 else words[-k:][::-1] if task == 1 else words[:2 * k:2]
            self.rows.append(([BOS, 4 + task] + words + [SEP], answer + [EOS]))

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return self.rows[i]


def collate(rows):
    longest = max(len(p) + len(a) for p, a in rows)
    ids = torch.full((len(rows), longest), PAD)
    labels = torch.full((len(rows), longest), -100)
    for r, (prompt, answer) in enumerate(rows):
        n, m = len(prompt), len(answer)
        ids[r, :n + m] = torch.tensor(prompt + answer)
        labels[r, n:n + m] = torch.tensor(answer)
    return {"input_ids": ids, "labels": labels}
