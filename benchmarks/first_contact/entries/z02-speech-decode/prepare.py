"""Writes data/feats.ark (300 made-up utterances of 1 to 3 seconds, 40 filter banks, in Kaldi's binary form),
data/data.json and data/lang_1char/dict.txt in the forms of the recipe egs/aishell, and exp/final.pth.tar, a model
with drawn weights packed by Transformer.serialize as the training of the repository packs it."""
import json
import os
import struct
import numpy as np
import torch
from encoder import Encoder
from decoder import Decoder
from transformer import Transformer

here = os.path.dirname(os.path.abspath(__file__))
rng = np.random.default_rng(12)
torch.manual_seed(12)
os.makedirs(os.path.join(here, 'data', 'lang_1char'), exist_ok=True)
os.makedirs(os.path.join(here, 'exp'), exist_ok=True)
chars = ['<blank>', '<unk>', '<sos>', '<eos>'] + [chr(0x4e00 + i) for i in range(596)]
with open(os.path.join(here, 'data', 'lang_1char', 'dict.txt'), 'w', encoding='utf-8') as f:
    for i, c in enumerate(chars):
        f.write('%s %d\n' % (c, i))
ark = os.path.join(here, 'data', 'feats.ark')
templates = rng.normal(size=(600, 40)).astype(np.float32)
utts = {}
with open(ark, 'wb') as f:
    for n in range(300):
        name = 'S%04dW%04d' % (n % 20, n)
        T = int(rng.integers(100, 301))
        ids = rng.integers(4, 600, max(2, T // 25))
        x = templates[np.repeat(ids, T // len(ids) + 1)[:T]] + 0.5 * rng.normal(size=(T, 40)).astype(np.float32)
        f.write((name + ' ').encode())
        at = f.tell()
        f.write(b'\0BFM ' + struct.pack('<bibi', 4, T, 4, 40) + x.astype('<f4').tobytes())
        utts[name] = {
            'input': [{'feat': 'data/feats.ark:%d' % at, 'name': 'input1', 'shape': [T, 40]}],
            'output': [{'name': 'target1', 'shape': [len(ids), 600], 'text': ''.join(chars[i] for i in ids),
                        'token': ' '.join(chars[i] for i in ids), 'tokenid': ' '.join(str(i) for i in ids)}],
            'utt2spk': name[:5]}
with open(os.path.join(here, 'data', 'data.json'), 'w') as f:
    json.dump({'utts': utts}, f, indent=1)
encoder = Encoder(160, 2, 4, 64, 64, 256, 512, dropout=0.1, pe_maxlen=1000)
decoder = Decoder(2, 3, 600, 256, 2, 4, 64, 64, 256, 512, dropout=0.1, pe_maxlen=1000)
model = Transformer(encoder, decoder)
model.encoder.n_layers, model.encoder.n_head, model.encoder.d_k, model.encoder.d_v = 2, 4, 64, 64
model.encoder.d_model, model.encoder.d_inner = 256, 512
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
torch.save(Transformer.serialize(model, optimizer, 0, 4, 3), os.path.join(here, 'exp', 'final.pth.tar'))
