"""Write data/SdfSamples/ShapeNetV2/03001627/*.npz, 320 made-up chairs (boxes; 4746 in the paper) with 15360 samples of
the signed distance each (about 500000 there, the same number for each one that a step takes), and examples/chairs/
specs.json and the split, after the repository's own."""
import json
import os

import numpy as np

rng = np.random.default_rng(20261127)
here = os.path.dirname(os.path.abspath(__file__))
out = os.path.join(here, 'data', 'SdfSamples', 'ShapeNetV2', '03001627')
os.makedirs(out, exist_ok=True)
os.makedirs(os.path.join(here, 'examples', 'chairs'), exist_ok=True)
os.makedirs(os.path.join(here, 'examples', 'splits'), exist_ok=True)


def sdf(p, boxes):
    best = np.full(len(p), 9.0)
    for c, h in boxes:
        q = np.abs(p - c) - h
        d = np.linalg.norm(np.maximum(q, 0), axis=1) + np.minimum(q.max(1), 0)
        best = np.minimum(best, d)
    return best


names = []
for n in range(320):
    w, d, t, s = rng.uniform(0.25, 0.45), rng.uniform(0.25, 0.45), rng.uniform(0.03, 0.07), rng.uniform(-0.15, 0.1)
    boxes = [(np.array([0, s, 0]), np.array([w, t, d])), (np.array([0, s + 0.35, -d + t]), np.array([w, 0.35, t]))]
    for i in (-1, 1):
        for j in (-1, 1):
            boxes.append((np.array([i * (w - t), (s - 0.7) / 2, j * (d - t)]), np.array([t, (s + 0.7) / 2, t])))
    pos, neg = [], []
    while sum(map(len, pos)) < 9000 or sum(map(len, neg)) < 6360:
        c, h = boxes[int(rng.integers(len(boxes)))]
        p = c + rng.uniform(-1, 1, (8000, 3)) * (h + 0.02)
        if rng.random() < 0.2:
            p = rng.uniform(-1, 1, (2000, 3))
        v = sdf(p, boxes)
        x = np.concatenate([p, v[:, None]], 1).astype('float32')
        pos.append(x[v >= 0])
        neg.append(x[v < 0])
    name = '%032x' % int(rng.integers(1 << 60))
    names.append(name)
    np.savez(os.path.join(out, name + '.npz'), pos=np.concatenate(pos)[:9000], neg=np.concatenate(neg)[:6360])
with open(os.path.join(here, 'examples', 'splits', 'sv2_chairs_train.json'), 'w') as f:
    json.dump({'ShapeNetV2': {'03001627': names}}, f)
specs = {
    'Description': 'This experiment learns a shape representation for chairs using data from ShapeNet version 2.',
    'DataSource': 'data', 'TrainSplit': 'examples/splits/sv2_chairs_train.json',
    'TestSplit': 'examples/splits/sv2_chairs_test.json', 'NetworkArch': 'deep_sdf_decoder',
    'NetworkSpecs': {'dims': [256] * 8, 'dropout': list(range(8)), 'dropout_prob': 0.2, 'norm_layers': list(range(8)),
                     'latent_in': [4], 'xyz_in_all': False, 'use_tanh': False, 'latent_dropout': False, 'weight_norm': True},
    'CodeLength': 128, 'NumEpochs': 5, 'SnapshotFrequency': 1000, 'AdditionalSnapshots': [100, 500],
    'LearningRateSchedule': [{'Type': 'Step', 'Initial': 0.0005, 'Interval': 500, 'Factor': 0.5},
                             {'Type': 'Step', 'Initial': 0.001, 'Interval': 500, 'Factor': 0.5}],
    'SamplesPerScene': 512, 'ScenesPerBatch': 8, 'DataLoaderThreads': 2, 'ClampingDistance': 0.1,
    'CodeRegularization': True, 'CodeRegularizationLambda': 1e-4, 'CodeBound': 1.0}
with open(os.path.join(here, 'examples', 'chairs', 'specs.json'), 'w') as f:
    json.dump(specs, f, indent=2)
