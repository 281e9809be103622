"""Draws made-up characters in the layout of Omniglot (105 x 105 one-bit pictures, 20 drawings of
each character, four rotations as classes) with the split files of Vinyals."""
import os
import numpy as np
from PIL import Image, ImageDraw

rng = np.random.default_rng(3)
root = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'dataset')
splits = {'train': [], 'val': [], 'test': []}
plan = [('train', 'Arvani', 10), ('train', 'Belemite', 8), ('train', 'Cordish', 7), ('val', 'Dolmen', 6), ('test', 'Estuan', 8)]
for split, alphabet, n in plan:
    for c in range(1, n + 1):
        label = os.path.join(alphabet, 'character%02d' % c)
        folder = os.path.join(root, 'data', label)
        os.makedirs(folder, exist_ok=True)
        strokes = [rng.uniform(15, 90, (int(rng.integers(3, 6)), 2)) for _ in range(int(rng.integers(2, 4)))]
        for k in range(20):
            img = Image.new('1', (105, 105), 1)
            draw = ImageDraw.Draw(img)
            shift = rng.normal(0, 4, 2)
            for s in strokes:
                draw.line([tuple(p) for p in s + shift + rng.normal(0, 2.5, s.shape)], fill=0, width=3)
            img.save(os.path.join(folder, '%04d_%02d.png' % (c, k + 1)))
        splits[split] += ['%s/rot%03d' % (label, r) for r in (0, 90, 180, 270)]
splits['trainval'] = splits['train'] + splits['val']
os.makedirs(os.path.join(root, 'splits', 'vinyals'), exist_ok=True)
for name, rows in splits.items():
    with open(os.path.join(root, 'splits', 'vinyals', name + '.txt'), 'w') as f:
        f.write('\n'.join(rows) + '\n')
