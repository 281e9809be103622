"""A made-up plant taxonomy: closure.csv holds every (taxon, ancestor) pair."""
import csv
import random

RANKS = [("order", 12), ("family", 60), ("genus", 700), ("species", 5200)]


if __name__ == "__main__":
    random.seed(5)
    parent = {}
    above = ["plantae"]
    for rank, n in RANKS:
        taxa = [f"{rank}_{i}" for i in range(n)]
        weights = [random.paretovariate(1.2) for _ in above]
        for t in taxa:
            parent[t] = random.choices(above, weights)[0]
        above = taxa
    with open("closure.csv", "w", newline="") as f:
        out = csv.writer(f)
        out.writerow(["taxon", "ancestor"])
        for t in parent:
            a = parent.get(t)
            while a is not None:
                out.writerow([t, a])
                a = parent.get(a)
    print("wrote closure.csv")
