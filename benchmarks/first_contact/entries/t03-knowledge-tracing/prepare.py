"""Writes made-up answer sequences in the format of KTDataset/statics2011
(three lines a student: length, questions, answers; 1224 questions)."""
import os
import numpy as np

rng = np.random.default_rng(9)
out = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'KTDataset', 'statics2011')
os.makedirs(out, exist_ok=True)
N, S = 1224, 30
skill = rng.integers(0, S, N)
hard = rng.normal(0, 0.8, N)
by_skill = [np.flatnonzero(skill == s) for s in range(S)]
for name, students in (('train', 40), ('test', 10)):
    with open(os.path.join(out, 'static2011_%s.txt' % name), 'w') as f:
        for _ in range(students):
            n = int(rng.integers(60, 300))
            know = rng.normal(0, 1, S)
            q, a = [], []
            while len(q) < n:
                s = int(rng.integers(S))
                for i in rng.choice(by_skill[s], int(rng.integers(3, 12))):
                    q.append(int(i))
                    a.append(int(rng.random() < 1 / (1 + np.exp(hard[i] - know[s]))))
                    know[s] += 0.15
            q, a = q[:n], a[:n]
            f.write('%d\n%s\n%s\n' % (n, ','.join(map(str, q)), ','.join(map(str, a))))
