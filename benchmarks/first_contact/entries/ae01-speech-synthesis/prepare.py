import os

import numpy as np
from scipy.io.wavfile import write

RATE = 22050
SYLLABLES = 'ba do ri ne ku la sho mi ta ve gor pin sel um ha'.split()

rng = np.random.default_rng(7)
pitches = {s: (rng.uniform(300, 900), rng.uniform(1000, 2600)) for s in SYLLABLES}


def speak(syllables, base):
    pieces = []
    for s in syllables:
        n = int(RATE * rng.uniform(0.08, 0.13))
        t = np.arange(n) / RATE
        f1, f2 = pitches[s]
        tone = np.sin(2 * np.pi * base * t) + 0.6 * np.sin(2 * np.pi * f1 * t) + 0.3 * np.sin(2 * np.pi * f2 * t)
        pieces.append(tone * np.hanning(n) + 0.01 * rng.standard_normal(n))
    wave = np.concatenate(pieces)
    return (wave / np.abs(wave).max() * 24000).astype(np.int16)


os.makedirs('wavs', exist_ok=True)
os.makedirs('filelists', exist_ok=True)
for part, count in (('train', 120), ('val', 16)):
    lines = []
    for i in range(count):
        syllables = [SYLLABLES[k] for k in rng.integers(0, len(SYLLABLES), rng.integers(2, 6))]
        path = 'wavs/%s%03d.wav' % (part.upper(), i)
        write(path, RATE, speak(syllables, rng.uniform(110, 220)))
        words, k = [], 0
        while k < len(syllables):
            step = int(rng.integers(1, 4))
            words.append(''.join(syllables[k:k + step]))
            k += step
        lines.append(path + '|' + ' '.join(words).capitalize() + '.')
    with open('filelists/ljs_audio_text_%s_filelist.txt' % part, 'w') as f:
        f.write('\n'.join(lines) + '\n')
