"""Writes preference pairs about made-up support questions and fine-tunes the starting checkpoint on the chosen answers."""
import json
import random
from pathlib import Path

import torch
import torch.nn.functional as F

from data import PreferenceCollator, PreferenceDataset
from model import CausalLM, LMConfig
from tokenizer import WordTokenizer

SYLLABLES = ["ba", "ko", "ri", "tel", "mun", "sa", "vor", "pi", "lan", "dee", "gra", "zu", "fen", "ho", "wick"]


def words(rng, n):
    out = set()
    while len(out) < n:
        out.add("".join(rng.choice(SYLLABLES) for _ in range(rng.choice([2, 2, 3]))))
    return sorted(out)


def phrase(rng, pool, n):
    text = []
    for i in range(n):
        text.append(rng.choice(pool))
        if i % 9 == 8:
            text.append(".")
    return " ".join(text)


def pair(rng, topics, polite, rude):
    topic = rng.randrange(len(topics))
    pool = topics[topic]
    n = min(80, max(8, int(rng.lognormvariate(3.2, 0.5))))
    m = min(90, max(6, int(rng.lognormvariate(3.4, 0.5))))
    k = min(90, max(6, int(rng.lognormvariate(3.3, 0.5))))
    other = topics[rng.randrange(len(topics))]
    good = phrase(rng, pool + polite, m)
    bad = phrase(rng, (pool if rng.random() < 0.4 else other) + rude, k)
    if rng.random() < 0.12:
        good, bad = bad, good
    return {"prompt": "user : " + phrase(rng, pool, n) + " ? assistant :", "chosen": good, "rejected": bad}


def main():
    rng = random.Random(5)
    torch.manual_seed(5)
    out = Path("data")
    out.mkdir(exist_ok=True)
    vocabulary = words(rng, 630)
    polite, rude = vocabulary[:12], vocabulary[12:24]
    topics = [rng.sample(vocabulary[24:], 40) for _ in range(30)]
    for name, n in (("train", 400), ("valid", 64)):
        with open(out / f"{name}.jsonl", "w") as f:
            for _ in range(n):
                f.write(json.dumps(pair(rng, topics, polite, rude)) + "\n")
    texts = [" ".join(json.loads(line).values()) for line in open(out / "train.jsonl")]
    tokenizer = WordTokenizer.train(texts, 640)
    tokenizer.save(out / "vocab.json")

    cfg = LMConfig(vocab_size=len(tokenizer))
    model = CausalLM(cfg)
    data = PreferenceDataset(out / "train.jsonl", tokenizer)
    collate = PreferenceCollator()
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    for step in range(80):
        batch = collate([data[rng.randrange(len(data))] for _ in range(8)])
        half = len(batch["input_ids"]) // 2
        ids, mask = batch["input_ids"][:half], batch["answer_mask"][:half]
        logits = model(ids)
        loss = F.cross_entropy(logits[:, :-1][mask[:, 1:]], ids[:, 1:][mask[:, 1:]])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"sft loss {loss.item():.3f}")
    torch.save({"model": model.state_dict(), "config": vars(cfg)}, out / "sft.pt")


if __name__ == "__main__":
    main()
