"""The test file that the trainer looks for (it only asks for its name), so that nothing is downloaded."""
import os
import random

random.seed(3)
os.makedirs('data/tsp', exist_ok=True)
with open('data/tsp/tsp20_test.txt', 'w') as f:
    for _ in range(100):
        points = ' '.join('%.6f' % random.random() for _ in range(40))
        tour = list(range(1, 21))
        f.write('%s output %s 1 \n' % (points, ' '.join(map(str, tour))))
