"""Stand-in for the Sentinel-2 pixel-set data: 24 dates, 10 bands, parcels of 5 to 500 pixels; each file serves seven parcels (hard links)."""
import json
import os
import pickle
import numpy as np

rng = np.random.default_rng(31)
classes = [1, 3, 4, 5, 6, 8, 9, 12, 13, 14, 16, 18, 19, 23, 28, 31, 33, 34, 36, 39]
os.makedirs("data/DATA", exist_ok=True)
os.makedirs("data/META", exist_ok=True)
base = rng.uniform(300, 4000, (len(classes), 24, 10))
labels, geom, n = {}, {}, 0
for k in range(900):
    c = int(rng.integers(len(classes)))
    s = int(np.clip(rng.lognormal(4.1, 0.8), 5, 500))
    x = base[c][:, :, None] * rng.lognormal(0, 0.2, (24, 10, 1)) + 120 * rng.standard_normal((24, 10, s))
    path = "data/DATA/%d.npy" % n
    np.save(path, np.clip(x, 0, 10000).astype(np.uint16))
    for j in range(7):
        other = "data/DATA/%d.npy" % (n + j)
        if j:
            if os.path.exists(other):
                os.remove(other)
            os.link(path, other)
        labels[str(n + j)] = classes[c]
        geom[str(n + j)] = [float(v) for v in (4 * s ** 0.5, s, 4 / s ** 0.5, rng.uniform(0.4, 1))]
    n += 7
json.dump({"label_44class": labels}, open("data/META/labels.json", "w"))
json.dump(geom, open("data/META/geomfeat.json", "w"))
days = np.datetime64("2017-01-05") + np.arange(24) * 14
json.dump({str(i): int(str(d).replace("-", "")) for i, d in enumerate(days)}, open("data/META/dates.json", "w"))
pickle.dump((base.mean(0), base.std(0)), open("data/S2-2017-T31TFM-meanstd.pkl", "wb"))
