"""Draws a corpus as bi-lstm-crf wants it (vocab.json, tags.json, dataset.txt: a sentence of characters, a tab, its tags as JSON): words of one to four characters, some of them names of places, people and firms."""
import json
import os

import numpy as np

SENTENCES, CHARACTERS = 12000, 3200
TAGS = ['B', 'I', 'B-LOC', 'I-LOC', 'B-PER', 'I-PER', 'B-ORG', 'I-ORG']


def main():
    rng = np.random.default_rng(4)
    characters = [chr(0x4E00 + k) for k in range(CHARACTERS)]
    common = 1.0 / np.arange(1, CHARACTERS + 1) ** 0.8
    common /= common.sum()
    words = []
    for _ in range(20000):
        length = int(rng.choice([1, 2, 3, 4], p=[0.25, 0.55, 0.13, 0.07]))
        kind = str(rng.choice(['', '-LOC', '-PER', '-ORG'], p=[0.88, 0.05, 0.04, 0.03])) if length > 1 else ''
        words.append((''.join(characters[k] for k in rng.choice(CHARACTERS, length, p=common)), kind))
    usual = 1.0 / np.arange(1, 20001) ** 0.9
    usual /= usual.sum()
    os.makedirs('corpus', exist_ok=True)
    with open('corpus/dataset.txt', 'w', encoding='utf8') as f:
        for _ in range(SENTENCES):
            wanted = int(np.clip(rng.lognormal(3.4, 0.55), 5, 140))
            text, tags = '', []
            for k in rng.choice(20000, wanted, p=usual):
                word, kind = words[k]
                text += word
                tags += ['B' + kind] + ['I' + kind] * (len(word) - 1)
                if len(text) >= wanted:
                    break
            f.write(text + '\t' + json.dumps(tags) + '\n')
    with open('corpus/vocab.json', 'w', encoding='utf8') as f:
        json.dump(characters, f, ensure_ascii=False)
    with open('corpus/tags.json', 'w') as f:
        json.dump(TAGS, f)


if __name__ == '__main__':
    main()
