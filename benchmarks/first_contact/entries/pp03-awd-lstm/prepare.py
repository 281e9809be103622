"""Writes data/penn: made-up text in the form of the Penn Treebank of Mikolov (10000 words, <unk>, N, about 21 words a
sentence), 200000 + 16000 + 18000 words (929589 + 73760 + 82430 there, the same proportions)."""
import os

import numpy as np

rng = np.random.RandomState(7)
V = 9998
letters = list('abcdefghijklmnopqrstuvwxyz')
words = set()
while len(words) < V:
    words.add(''.join(rng.choice(letters, rng.randint(2, 9))))
words = ['<unk>', 'N'] + sorted(words, key=lambda w: (len(w), w))
p = 1.0 / (np.arange(len(words)) + 2.7)
p /= p.sum()
follow = rng.choice(len(words), (len(words), 4), p=p)      # each word has four favourite successors


def text(n, every):
    out, total = [], 0
    start = rng.choice(len(words), p=p)
    queue = list(rng.permutation(len(words))) if every else []
    while total < n:
        length = max(2, int(rng.normal(21, 9)))
        zipf = rng.choice(len(words), length, p=p)
        own = rng.rand(length) < 0.5
        pick = rng.randint(0, 4, length)
        w, line = start, []
        for i in range(length):
            w = follow[w, pick[i]] if own[i] else zipf[i]
            if queue and i == length // 2:
                w = queue.pop()
            line.append(words[w])
        out.append(' ' + ' '.join(line) + ' \n')
        total += length + 1
    while queue:
        out.append(' ' + ' '.join(words[queue.pop()] for _ in range(min(len(queue), 20))) + ' \n')
    return ''.join(out)


os.makedirs('data/penn', exist_ok=True)
for name, n in (('train', 200000), ('valid', 16000), ('test', 18000)):
    with open('data/penn/%s.txt' % name, 'w') as f:
        f.write(text(n, name == 'train'))
