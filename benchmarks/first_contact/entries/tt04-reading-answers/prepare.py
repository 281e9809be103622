"""Writes SQuAD/data.msgpack and SQuAD/meta.msgpack in the shape that prepro.py gives, with made-up paragraphs:
train: id, context_id, context_features, tag_id, ent_id, question_id, context, context_token_span, start, end
dev:   id, context_id, context_features, tag_id, ent_id, question_id, context, context_token_span, [answers]"""
import os
import random

import msgpack
import numpy as np

random.seed(5)
rng = np.random.default_rng(5)
V, DIM, TAGS, ENTS = 20000, 300, 50, 19
syllables = [a + b for a in "bcdfghklmnprstvw" for b in ("a", "e", "i", "o", "u", "an", "er", "is")]
words = ["<PAD>", "<UNK>"]
seen = set()
while len(words) < V:
    w = "".join(random.choices(syllables, k=random.randint(1, 4)))
    if w not in seen:
        seen.add(w)
        words.append(w)
freq = 1.0 / np.arange(3, V + 1)
freq /= freq.sum()


def row(i, dev):
    n = int(np.clip(rng.lognormal(4.75, 0.38), 30, 300))
    ids = (rng.choice(V - 2, n, p=freq) + 2).tolist()
    s = int(rng.integers(1, n - 6))
    e = s + int(rng.integers(0, 4))
    q = [ids[s - 1]] + (rng.choice(V - 2, int(rng.integers(6, 16)), p=freq) + 2).tolist()
    qs = set(q)
    tf = {w: ids.count(w) / n for w in set(ids)}
    feats = [[w in qs, w in qs, w in qs, tf[w]] for w in ids]
    tags = [w % TAGS if w % 7 else int(rng.integers(0, TAGS)) for w in ids]
    ents = [w % ENTS if w % 5 == 0 else 0 for w in ids]
    text, spans = "", []
    for w in ids:
        spans.append((len(text), len(text) + len(words[w])))
        text += words[w] + " "
    out = [i, ids, feats, tags, ents, q, text, spans]
    return out + ([[text[spans[s][0]:spans[e][1]]] * 3] if dev else [s, e])


os.makedirs("SQuAD", exist_ok=True)
with open("SQuAD/data.msgpack", "wb") as f:
    msgpack.dump({"train": [row(i, False) for i in range(1600)], "dev": [row(i, True) for i in range(192)]}, f)
with open("SQuAD/meta.msgpack", "wb") as f:
    emb = rng.normal(0, 0.4, (V, DIM))
    emb[0] = 0
    msgpack.dump({"vocab": words, "vocab_tag": ["T%d" % k for k in range(TAGS)],
                  "vocab_ent": ["E%d" % k for k in range(ENTS)], "embedding": emb.tolist(), "wv_cased": True},
                 f, use_single_float=True)
