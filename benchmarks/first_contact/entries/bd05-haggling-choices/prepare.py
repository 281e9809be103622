"""Stand-in for data/negotiate: invented dialogues about books, hats and balls in the corpus's format and sizes."""
import os
import random

random.seed(5)
os.makedirs('data/negotiate', exist_ok=True)
common = ['i', 'you', 'the', 'can', 'have', 'want', 'need', 'ball', 'balls', 'hat', 'hats', 'book', 'books', 'and', 'all',
          'deal', 'ok', 'sorry', 'no', 'yes', 'would', 'like', 'take', 'give', 'me', 'if', 'get', 'one', 'two', '.', '?', ',']
rare = ['word%d' % i for i in range(500)]


def sentence():
    n = max(2, int(random.gauss(8, 4)))
    return [random.choice(common) if random.random() < 0.85 else rare[int(500 * random.random() ** 2)] for _ in range(n)]


def line():
    counts = [1, 1, 1]
    for _ in range(random.randint(2, 4)):
        counts[random.randrange(3)] += 1
    counts = [min(c, 4) for c in counts]
    mine, yours = [[random.randint(0, 10) for _ in counts] for _ in range(2)]
    who = random.choice([['YOU:', 'THEM:'], ['THEM:', 'YOU:']])
    words = []
    for turn in range(random.choice([2, 3, 4, 4, 5, 5, 6, 6, 7, 8, 9, 10, 12])):
        words += [who[turn % 2]] + sentence() + ['<eos>']
    words += [who[(turn + 1) % 2], '<selection>']
    if random.random() < 0.8:
        got = [random.randint(0, c) for c in counts]
        out = ['item%d=%d' % (i, g) for i, g in enumerate(got)] + ['item%d=%d' % (i, c - g) for i, (g, c) in enumerate(zip(got, counts))]
    else:
        out = [random.choice(['<no_agreement>', '<disagree>', '<disconnect>'])] * 6
    ctx = lambda vals: ' '.join('%d %d' % (c, v) for c, v in zip(counts, vals))
    return '<input> %s </input> <dialogue> %s </dialogue> <output> %s </output> <partner_input> %s </partner_input>' % (
        ctx(mine), ' '.join(words), ' '.join(out), ctx(yours))


for name, n in (('train', 2500), ('val', 270), ('test', 260)):
    with open('data/negotiate/%s.txt' % name, 'w') as f:
        for _ in range(n):
            f.write(line() + '\n')
