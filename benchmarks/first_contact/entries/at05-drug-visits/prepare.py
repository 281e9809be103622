"""data/*.pkl in the form of the repository's own (MIMIC-III): patients as lists of visits [diagnoses, procedures, drugs],
with the sizes measured there (13.6, 4.5, 19.9 codes a visit, 2.37 visits a patient, at most 29; 1960, 1432, 153 codes).
360 patients (6350)."""
import os
import pickle
import sys

import numpy as np

sys.path.insert(0, "shims")
from vocabulary import Voc

rng = np.random.default_rng(17)
SIZES, MEANS, MOST = (1960, 1432, 153), (12.6, 3.5, 18.9), (39, 32, 55)
weights = [1.0 / (np.arange(n) + 5.0) for n in SIZES]
weights = [w / w.sum() for w in weights]


def codes(kind):
    n = int(np.clip(1 + rng.poisson(MEANS[kind] * rng.gamma(4.0, 0.25)), 1, MOST[kind]))
    return [int(c) for c in rng.choice(SIZES[kind], n, replace=False, p=weights[kind])]


records = []
for _ in range(360):
    visits = int(np.clip(1 + rng.geometric(0.73), 2, 29)) if rng.random() < 0.85 else int(rng.integers(3, 9))
    patient = [[codes(0), codes(1), codes(2)] for _ in range(visits)]
    for before, now in zip(patient, patient[1:]):
        keep = rng.random(len(before[2])) < 0.6
        now[2] = sorted({*now[2][: len(now[2]) // 2], *(c for c, k in zip(before[2], keep) if k)})[:55]
    records.append(patient)

ehr = np.zeros((153, 153))
for patient in records:
    for visit in patient:
        for a in visit[2]:
            for b in visit[2]:
                if a != b and rng.random() < 0.2:
                    ehr[a, b] = ehr[b, a] = 1
pairs = np.triu(rng.random((153, 153)) < 0.04, 1)
ddi = (pairs | pairs.T).astype(float)

voc = {name: Voc(n) for name, n in zip(("diag_voc", "pro_voc", "med_voc"), SIZES)}
os.makedirs("data", exist_ok=True)
for name, what in (("records_final", records), ("voc_final", voc), ("ehr_adj_final", ehr), ("ddi_A_final", ddi)):
    with open(f"data/{name}.pkl", "wb") as f:
        pickle.dump(what, f)
