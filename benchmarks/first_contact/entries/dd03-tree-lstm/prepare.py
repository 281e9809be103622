"""Writes data/sick (made-up sentence pairs with dependency parents in the files of SICK) and data/glove (vectors)."""
import os
import sys

import numpy as np

sizes = {'train': 400, 'dev': 45, 'test': 440}          # 4500, 500 and 4927 in SICK
if len(sys.argv) > 1:
    sizes = {k: max(10, v // int(sys.argv[1])) for k, v in sizes.items()}
rng = np.random.default_rng(11)
syll = [c + v for c in 'b d f g h j k l m n p r s t v w z'.split() for v in 'a e i o u'.split()]
words = set()
while len(words) < 2300:
    words.add(''.join(rng.choice(syll, rng.integers(1, 5))))
words = np.array(sorted(words))
rng.shuffle(words)
p = 1. / (np.arange(len(words)) + 3.)
p /= p.sum()


def parents(n):
    """A random projective tree; parent 0 is the root, words count from 1."""
    out = np.zeros(n, int)

    def attach(lo, hi, head):
        if lo >= hi:
            return
        r = int(rng.integers(lo, hi)) if hi - lo > 2 else int(rng.integers(lo, hi))
        out[r] = head
        for a, b in ((lo, r), (r + 1, hi)):
            while a < b:                                # several children on each side
                c = a + int(rng.integers(1, min(4, b - a) + 1)) if b - a > 1 else b
                attach(a, c, r + 1)
                a = c
    attach(0, n, 0)
    return out


def sentence():
    n = int(np.clip(rng.normal(9.6, 3.1), 3, 25))
    return list(rng.choice(len(words), n, p=p))


for split, count in sizes.items():
    folder = os.path.join('data', 'sick', split)
    os.makedirs(folder, exist_ok=True)
    files = {name: open(os.path.join(folder, name), 'w') for name in ('a.toks', 'b.toks', 'a.parents', 'b.parents', 'sim.txt')}
    for _ in range(count):
        a = sentence()
        keep = rng.random()
        b = [w for w in a if rng.random() < .3 + .7 * keep] + sentence()[:max(2, int(8 * (1 - keep)))]
        for name, s in (('a', a), ('b', b)):
            files[name + '.toks'].write(' '.join(words[i] for i in s) + '\n')
            files[name + '.parents'].write(' '.join(map(str, parents(len(s)))) + '\n')
        files['sim.txt'].write('%.1f\n' % np.clip(1 + 4 * keep + rng.normal(0, .3), 1, 5))
    for f in files.values():
        f.close()

os.makedirs(os.path.join('data', 'glove'), exist_ok=True)
os.makedirs('checkpoints', exist_ok=True)
with open(os.path.join('data', 'glove', 'glove.840B.300d.txt'), 'w') as f:
    for w in words:
        f.write(w + ' ' + ' '.join('%.4f' % v for v in rng.normal(0, .3, 300)) + '\n')
