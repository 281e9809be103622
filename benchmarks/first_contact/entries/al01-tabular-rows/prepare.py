"""Draws stand-in census rows in the layout of OpenML's data set 1590 (adult): 48842 rows, 6 numbers and 8 categories, three of them with missing values ("?"), in ARFF."""
import os

import numpy as np

ROWS = 48842
CATEGORIES = {
    "workclass": (8, 0.057), "education": (16, 0), "marital-status": (7, 0), "occupation": (14, 0.058),
    "relationship": (6, 0), "race": (5, 0), "sex": (2, 0), "native-country": (41, 0.018),
}
ORDER = ["age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation", "relationship",
         "race", "sex", "capital-gain", "capital-loss", "hours-per-week", "native-country"]

rng = np.random.default_rng(1590)
columns, score = {}, np.zeros(ROWS)
for name, (count, missing) in CATEGORIES.items():
    weights = rng.dirichlet(np.full(count, 0.6)) + 0.002
    codes = rng.choice(count, ROWS, p=weights / weights.sum())
    score += rng.normal(0, 0.5, count)[codes]
    text = np.array([f"{name}_{i}" for i in range(count)], dtype=object)[codes]
    text[rng.random(ROWS) < missing] = "?"
    columns[name] = text
age = np.clip(rng.gamma(8, 4.8, ROWS), 17, 90).astype(int)
years = np.clip(rng.normal(10, 2.6, ROWS), 1, 16).astype(int)
hours = np.clip(rng.normal(40, 12, ROWS), 1, 99).astype(int)
gain = np.where(rng.random(ROWS) < 0.083, rng.lognormal(8.7, 1, ROWS), 0).astype(int)
loss = np.where(rng.random(ROWS) < 0.047, rng.normal(1870, 380, ROWS).clip(100), 0).astype(int)
columns.update({
    "age": age, "fnlwgt": rng.lognormal(12, 0.6, ROWS).astype(int), "education-num": years,
    "capital-gain": gain, "capital-loss": loss, "hours-per-week": hours,
})
score += 0.35 * (years - 10) + 0.03 * (age - 38) + 0.03 * (hours - 40) + 1.5 * (gain > 0) + rng.logistic(0, 1, ROWS)
label = np.where(score > np.quantile(score, 0.761), ">50K", "<=50K")

os.makedirs("openml_cache/1590", exist_ok=True)
with open("openml_cache/1590/dataset.arff", "w") as file:
    file.write("@relation adult\n\n")
    for name in ORDER:
        kind = "{" + ",".join(f"{name}_{i}" for i in range(CATEGORIES[name][0])) + "}" if name in CATEGORIES else "numeric"
        file.write(f"@attribute {name} {kind}\n")
    file.write("@attribute class {>50K,<=50K}\n\n@data\n")
    for row in zip(*(columns[name] for name in ORDER), label):
        file.write(",".join(map(str, row)) + "\n")
