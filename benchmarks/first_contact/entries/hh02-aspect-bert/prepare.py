"""The files that the repository has too large or does not have: the dependency graphs (a random tree over the words, as dependency_graph.py
writes them: both directions and the diagonal) and ./bert-l2-h256, a BERT of 2 layers and 256 units with random weights and 30522 word pieces."""
import json
import os
import pickle
import re
import string
from collections import Counter
import numpy as np
import torch

here = os.path.dirname(os.path.abspath(__file__))
os.chdir(here)
rng = np.random.RandomState(0)
words = Counter()
for name in ('Laptops_Train', 'Laptops_Test_Gold'):
    path = 'datasets/semeval14/' + name + '.xml.seg'
    lines = open(path, encoding='utf-8', newline='\n', errors='ignore').readlines()
    graphs = {}
    for i in range(0, len(lines), 3):
        left, _, right = [s.lower().strip() for s in lines[i].partition('$T$')]
        text = (left + ' ' + lines[i + 1].lower().strip() + ' ' + right).split()
        words.update(w for t in text for w in re.findall(r'[a-z0-9]+', t))
        n = len(text)
        m = np.zeros((n, n), dtype='float32')
        for j in range(n):
            m[j, j] = 1
            if j:
                h = rng.randint(j)
                m[j, h] = m[h, j] = 1
        graphs[i] = m
    with open(path + '.graph', 'wb') as f:
        pickle.dump(graphs, f)

folder = 'bert-l2-h256'
os.makedirs(folder, exist_ok=True)
vocab = ['[PAD]'] + ['[unused%d]' % i for i in range(99)] + ['[UNK]', '[CLS]', '[SEP]', '[MASK]']
vocab += list(string.punctuation) + list(string.ascii_lowercase + string.digits)
vocab += ['##' + c for c in string.ascii_lowercase + string.digits]
vocab += [w for w, n in words.most_common() if n > 2 and len(w) > 1]
known = set(vocab)
ends = Counter(w[-3:] for w in words)
vocab += ['##' + e for e, n in ends.most_common(400) if '##' + e not in known]
vocab += ['[filler%d]' % i for i in range(30522 - len(vocab))]
open(folder + '/vocab.txt', 'w').write('\n'.join(vocab) + '\n')
json.dump({'do_lower_case': True, 'tokenizer_class': 'BertTokenizer'}, open(folder + '/tokenizer_config.json', 'w'))
from transformers import BertConfig, BertModel
torch.manual_seed(0)
BertModel(BertConfig(vocab_size=30522, hidden_size=256, num_hidden_layers=2, num_attention_heads=4,
                     intermediate_size=1024)).save_pretrained(folder)
