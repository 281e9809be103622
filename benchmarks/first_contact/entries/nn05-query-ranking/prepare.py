"""Write data/web30k/{train,vali}.txt, 160 + 53 made-up queries (18919 + 6306 in a fold of MSLR-WEB30K) with 136
normalised features, about 120 documents a query (5 to 700; 1 to 1251 there) and five grades, and configs/
ndcgloss2pp.json, the repository's configuration for it with this path, batches of 4 (64) and 2 epochs (100)."""
import json
import os

import numpy as np

rng = np.random.default_rng(20261127)
here = os.path.dirname(os.path.abspath(__file__))
out = os.path.join(here, 'data', 'web30k')
os.makedirs(out, exist_ok=True)
w = rng.normal(size=136) * (rng.random(136) < 0.2)
mix = rng.normal(size=(136, 136)) * 0.25
for role, n in (('train', 160), ('vali', 53)):
    with open(os.path.join(out, role + '.txt'), 'w') as f:
        for q in range(n):
            docs = int(np.clip(rng.lognormal(4.6, 0.62), 5, 700))
            x = rng.normal(size=(docs, 136)) + rng.normal(size=136) @ mix
            s = x @ w + rng.normal(size=docs) * 2
            rank = s.argsort().argsort() / docs
            y = np.searchsorted([0.52, 0.84, 0.97, 0.99], rank)
            for i in range(docs):
                f.write('%d qid:%d ' % (y[i], q) + ' '.join('%d:%.4g' % (k + 1, v) for k, v in enumerate(x[i])) + '\n')
with open(os.path.join(here, 'configs', 'ndcgloss2pp.json')) as f:
    config = json.load(f)
config['data']['path'] = 'data/web30k'
config['data']['batch_size'] = 4
config['training']['epochs'] = 2
config['expected_metrics'] = {}
with open(os.path.join(here, 'configs', 'ndcgloss2pp.json'), 'w') as f:
    json.dump(config, f, indent=2)
