import json

import torch
from torch.utils.data import Dataset

from tokenizer import BOS, EOS, PAD


def read_jsonl(path):
    with open(path) as f:
        return [json.loads(line) for line in f]


class PreferenceDataset(Dataset):
    """Prompt, chosen and rejected answers as token ids; the prompt is cut from the left when a pair is too long."""

    def __init__(self, path, tokenizer, max_length=192, max_prompt_length=96):
        self.rows = []
        for r in read_jsonl(path):
            prompt = [BOS] + tokenizer.encode(r["prompt"])[-(max_prompt_length - 1):]
            chosen = tokenizer.encode(r["chosen"]) + [EOS]
            rejected = tokenizer.encode(r["rejected"]) + [EOS]
            room = max_length - len(prompt)
            self.rows.append((prompt, chosen[:room], rejected[:room]))

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return self.rows[i]


class PreferenceCollator:
    def __init__(self, max_length=192):
        self.max_length = max_length

    def pad(self, sequences):
        ids = torch.full((len(sequences), self.max_length), PAD, dtype=torch.long)
        mask = torch.zeros(len(sequences), self.max_length, dtype=torch.bool)
        for i, (prompt, answer) in enumerate(sequences):
            n, m = len(prompt), len(prompt) + len(answer)
            ids[i, :m] = torch.tensor(prompt + answer)
            mask[i, n:m] = True
        return ids, mask

    def __call__(self, rows):
        # chosen answers in the first half of the batch, rejected ones in the second
        both = [(p, c) for p, c, _ in rows] + [(p, r) for p, _, r in rows]
        ids, mask = self.pad(both)
        return {"input_ids": ids, "answer_mask": mask}
