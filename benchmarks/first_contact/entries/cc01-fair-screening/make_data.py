"""Synthetic applicants table in the layout of the HR export."""
import numpy as np
import pandas as pd

NUM_SKILLS = 300
NUM_ROLES = 40
NUMERIC = ["years", "tests", "interview", "grade", "gap_months", "relocation_km",
           "salary_ask", "certs", "languages", "referrals"]


def build(path, rows, seed=7):
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 2, rows)
    age = rng.normal(38, 9, rows).clip(18, 67)
    table = pd.DataFrame({name: rng.normal(0, 1, rows) for name in NUMERIC})
    table["years"] = (age - 22) / 10 + rng.normal(0, 0.5, rows)
    table["gap_months"] += 0.8 * group
    table["role"] = rng.integers(0, NUM_ROLES, rows)
    table["age"] = age
    table["group"] = group
    value = rng.normal(0, 0.5, NUM_SKILLS)
    skills, strength = [], np.zeros(rows)
    for i in range(rows):
        count = int(rng.integers(4, 15))
        picked = rng.choice(NUM_SKILLS, count, replace=False)
        strength[i] = value[picked].sum()
        skills.append(picked.tolist())
    table["skills"] = skills
    logit = (0.9 * table["tests"] + 0.7 * table["interview"] + 0.6 * strength
             - 0.6 * table["gap_months"] + 0.2 * table["years"])
    table["invited"] = (rng.random(rows) < 1 / (1 + np.exp(-logit))).astype(int)
    table.to_csv(path, index=False)
