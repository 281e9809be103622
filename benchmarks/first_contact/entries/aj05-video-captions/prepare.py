"""Draws stand-in MSR-VTT data as prepro_vocab.py and prepro_feats.py of video-caption.pytorch write them:
data/info.json, data/caption.json, data/feats/resnet152/videoN.npy (40 x 2048), data/feats/c3d_feats/videoN.npy (clips x 2048)."""
import json
import os
import numpy as np

VIDEOS, FRAMES, DIM, CAPTIONS, VOCAB = 192, 40, 2048, 20, 5798


def main():
    rng = np.random.default_rng(2017)
    os.makedirs('data/feats/resnet152', exist_ok=True)
    os.makedirs('data/feats/c3d_feats', exist_ok=True)
    letters = np.array(list('etaoinshrdlucmfwypvbgk'))
    words, seen = [], {'<eos>', '<sos>', '<UNK>'}
    while len(words) < VOCAB - 1:
        w = ''.join(rng.choice(letters, rng.integers(2, 10)))
        if w not in seen:
            seen.add(w)
            words.append(w)
    words.append('<UNK>')
    itow = {i + 2: w for i, w in enumerate(words)}
    wtoi = {w: i + 2 for i, w in enumerate(words)}
    wtoi['<eos>'], itow[0] = 0, '<eos>'
    wtoi['<sos>'], itow[1] = 1, '<sos>'
    videos = {'train': list(range(VIDEOS)), 'val': list(range(VIDEOS, VIDEOS + 15)),
              'test': list(range(VIDEOS + 15, VIDEOS + 90))}
    with open('data/info.json', 'w') as f:
        json.dump({'ix_to_word': itow, 'word_to_ix': wtoi, 'videos': videos}, f)

    frequent = 1 / np.arange(1, VOCAB + 1) ** 1.05           # Zipf
    frequent /= frequent.sum()
    captions = {}
    for v in range(VIDEOS):
        topic = rng.choice(VOCAB, 12, p=frequent)
        caps, final = [], []
        for _ in range(CAPTIONS):
            n = int(np.clip(np.round(rng.lognormal(2.15, 0.42)), 3, 40))   # 9.3 words in the mean
            ids = np.where(rng.random(n) < 0.4, rng.choice(topic, n), rng.choice(VOCAB, n, p=frequent))
            ws = [words[i] for i in ids]
            caps.append(' '.join(ws))
            final.append(['<sos>'] + ws + ['<eos>'])
        captions['video%i' % v] = {'captions': caps, 'final_captions': final}
        centre = rng.gamma(0.6, 0.6, DIM)
        frames = np.maximum(0, centre + np.cumsum(rng.normal(0, 0.05, (FRAMES, DIM)), 0))
        np.save('data/feats/resnet152/video%i.npy' % v, frames.astype(np.float32))
        clips = int(rng.integers(15, 45))                     # 16 frames each, 10 to 30 s
        c3d = np.maximum(0, rng.gamma(0.5, 0.8, DIM) + rng.normal(0, 0.1, (clips, DIM)))
        np.save('data/feats/c3d_feats/video%i.npy' % v, c3d.astype(np.float32))
    with open('data/caption.json', 'w') as f:
        json.dump(captions, f)


if __name__ == '__main__':
    main()
