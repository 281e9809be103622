"""Writes sample_data/{train,dev,test}.bmes and sample_data/sample.word.emb: made-up sentences in the form of CoNLL 2003 (BMES tags)."""
import os
import random

random.seed(11)
here = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'sample_data')
os.makedirs(here, exist_ok=True)
ONSET = ['b', 'br', 'c', 'ch', 'd', 'f', 'g', 'gr', 'h', 'k', 'l', 'm', 'n', 'p', 'pr', 'r', 's', 'st', 't', 'tr', 'v', 'w']
VOWEL = ['a', 'e', 'i', 'o', 'u', 'ea', 'ou', 'ai']
CODA = ['', '', 'n', 'r', 's', 't', 'l', 'nd', 'ck', 'ng']


def make_word():
    n = random.choices([1, 2, 3, 4], [30, 40, 22, 8])[0]
    return ''.join(random.choice(ONSET) + random.choice(VOWEL) + random.choice(CODA) for _ in range(n))


def lexicon(n):
    out, seen = [], set()
    while len(out) < n:
        w = make_word()
        if w not in seen:
            seen.add(w)
            out.append(w)
    return out


short = ['the', 'of', 'in', 'to', 'a', 'and', 'on', 'for', 'at', 'was', '.', ',', '-', '(', ')', '"', 'said', 'with', 'from', 'by']
common = short + lexicon(18000)
weights = [1.0 / (i + 3) ** 1.02 for i in range(len(common))]
names = {t: [w.capitalize() for w in lexicon(2500)] for t in ('PER', 'LOC', 'ORG', 'MISC')}


def entity():
    kind = random.choices(['PER', 'LOC', 'ORG', 'MISC'], [28, 30, 27, 15])[0]
    n = random.choices([1, 2, 3, 4], [60, 32, 6, 2])[0]
    words = [names[kind][min(int(random.paretovariate(0.6)) - 1, 2499)] for _ in range(n)]
    tags = ['S-' + kind] if n == 1 else ['B-' + kind] + ['M-' + kind] * (n - 2) + ['E-' + kind]
    return list(zip(words, tags))


def sentence():
    r = random.random()
    length = random.randint(1, 8) if r < 0.32 else min(int(random.gauss(20, 10)), 60)
    length = max(length, 1)
    out = []
    while len(out) < length:
        r = random.random()
        if r < 0.12:
            out += entity()
        elif r < 0.22:
            out.append((random.choice(['%d' % random.randint(0, 2000), '%d-%d' % (random.randint(0, 9), random.randint(0, 9)),
                                       '%.2f' % (random.random() * 100)]), 'O'))
        else:
            out.append((random.choices(common, cum_weights=CUM)[0], 'O'))
    return out


CUM = []
total = 0.0
for w in weights:
    total += w
    CUM.append(total)

for name, n in (('train', 2400), ('dev', 550), ('test', 580)):
    with open(os.path.join(here, name + '.bmes'), 'w') as f:
        for _ in range(n):
            for word, tag in sentence():
                f.write(word + ' ' + tag + '\n')
            f.write('\n')
with open(os.path.join(here, 'sample.word.emb'), 'w') as f:
    vocab = common + [w.lower() for t in names for w in names[t]]
    for w in vocab:
        if random.random() < 0.9:
            f.write(w + ' ' + ' '.join('%.5f' % random.gauss(0, 0.4) for _ in range(50)) + '\n')
