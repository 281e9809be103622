# writes data/corpus.txt and data/test.txt (pairs of made-up sentences, one pair a line, tab between) and data/vocab.pkl with the repository's own WordVocab
import os
import random
from bert_pytorch.dataset import WordVocab

random.seed(5)
syll = ['ba', 'de', 'ki', 'lo', 'mu', 'na', 'po', 'ra', 'se', 'ti', 'vu', 'zo', 'ha', 'ne', 'sil', 'tor', 'men', 'gra']
words = set()
while len(words) < 4000:
    words.add(''.join(random.choice(syll) for _ in range(random.choice([1, 2, 2, 3, 3, 4]))))
words = sorted(words)
random.shuffle(words)
weights = [1 / (i + 8) for i in range(len(words))]


def sentence():
    return ' '.join(random.choices(words, weights, k=max(4, int(random.gauss(12, 4)))))


os.makedirs('data', exist_ok=True)
os.makedirs('output', exist_ok=True)
for name, n in (('corpus', 800), ('test', 80)):
    with open('data/%s.txt' % name, 'w') as f:
        for _ in range(n):
            f.write(sentence() + '\t' + sentence() + '\n')
with open('data/corpus.txt') as f:
    vocab = WordVocab(f)
vocab.save_vocab('data/vocab.pkl')
print(len(vocab))
