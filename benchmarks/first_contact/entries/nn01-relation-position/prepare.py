"""Write dataset/tacred/{train,dev,test}.json and dataset/vocab/{vocab.pkl,embedding.npy}: made-up sentences in the
form of TACRED (3000 + 1000 + 680; 68124 + 22631 + 15509 there), and the vocabulary and the vectors that
prepare_vocab.py writes from them and GloVe (54000 words of 300, as with TACRED and glove.840B)."""
import json
import os
import pickle

import numpy as np

from utils import constant
from prepare_vocab import entity_masks

rng = np.random.default_rng(20261127)
N_WORDS = 54000
words = ['w%05d' % i for i in range(N_WORDS)]
p = 1.0 / (np.arange(N_WORDS) + 2.7) ** 1.05
p /= p.sum()
pos = list(constant.POS_TO_ID)[2:]
ner = list(constant.NER_TO_ID)[2:]
dep = list(constant.DEPREL_TO_ID)[2:]
labels = list(constant.LABEL_TO_ID)
obj_types = list(constant.OBJ_NER_TO_ID)[2:]


def sentence(n):
    length = int(np.clip(rng.lognormal(3.5, 0.42), 6, 96))
    toks = [words[i] for i in rng.choice(N_WORDS, length, p=p)]
    rel = 0 if rng.random() < 0.795 else int(1 + min(40, rng.exponential(9)))
    a, b = sorted(rng.choice(length - 2, 2, replace=False))
    a, b = int(a), int(b)
    ae, be = min(a + int(rng.integers(0, 2)), b - 1), min(b + int(rng.integers(0, 3)), length - 1)
    ae = max(a, ae)
    if rng.random() < 0.4:
        (a, ae), (b, be) = (b, be), (a, ae)
    if rel:
        name = labels[rel]
        st = 'PERSON' if name.startswith('per') else 'ORGANIZATION'
        ot = obj_types[rel % len(obj_types)]
        cue = words[40 + rel]
        toks[min(max(ae, be) + 1, length - 1)] = cue
    else:
        st, ot = ['PERSON', 'ORGANIZATION'][int(rng.integers(2))], obj_types[int(rng.integers(len(obj_types)))]
    return {'id': '%020x' % n, 'relation': labels[rel], 'token': toks, 'subj_start': a, 'subj_end': ae,
            'obj_start': b, 'obj_end': be, 'subj_type': st, 'obj_type': ot,
            'stanford_pos': [pos[min(int(x), len(pos) - 1)] for x in rng.exponential(7, length)],
            'stanford_ner': [ner[0] if x < 0.8 else ner[int(rng.integers(1, len(ner)))] for x in rng.random(length)],
            'stanford_head': [str(int(x)) for x in rng.integers(0, length, length)],
            'stanford_deprel': [dep[min(int(x), len(dep) - 1)] for x in rng.exponential(7, length)]}


os.makedirs('dataset/tacred', exist_ok=True)
os.makedirs('dataset/vocab', exist_ok=True)
for name, n in (('train', 3000), ('dev', 1000), ('test', 680)):
    with open('dataset/tacred/%s.json' % name, 'w') as f:
        json.dump([sentence(i) for i in range(n)], f)
vocab = constant.VOCAB_PREFIX + entity_masks() + words
with open('dataset/vocab/vocab.pkl', 'wb') as f:
    pickle.dump(vocab, f)
emb = rng.normal(0, 0.4, (len(vocab), 300))
emb[constant.PAD_ID] = 0
np.save('dataset/vocab/embedding.npy', emb)
