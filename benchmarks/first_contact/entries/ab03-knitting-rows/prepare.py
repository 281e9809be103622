"""Write knitting patterns as text: stitch charts with rows, repeats and edges."""
import random

STITCHES = ["k", "p", "yo", "ssk", "k2tog", "sl", "m1l", "m1r", "p2tog"]


def motif(rng, width):
    row, left = [], width
    while left > 0:
        n = min(left, rng.choice([1, 1, 2, 2, 3, 4, 6]))
        kind = rng.choice("kkkkpppds")
        if kind in "kp":
            row.append(f"{kind}{n}")
            left -= n
        elif kind == "d" and left >= 2:
            row.append(rng.choice(["yo ssk", "k2tog yo", "yo p2tog"]))
            left -= 2
        elif kind == "s":
            row.append(rng.choice(["sl1", "m1l", "m1r"]))
            left -= 1
    return " ".join(row)


def pattern(rng, number):
    width, repeat, rows = rng.randint(4, 12), rng.randint(2, 9), 2 * rng.randint(2, 7)
    lines = [f"pattern {number} cast on {width * repeat + 4}"]
    charts = [motif(rng, width) for _ in range(rng.randint(1, 4))]
    for r in range(1, rows + 1):
        if r % 2:
            lines.append(f"row {r}: k2 *{charts[r // 2 % len(charts)]}* x{repeat} k2")
        else:
            lines.append(f"row {r}: k2 p{width * repeat} k2")
    lines.append("bind off")
    return "\n".join(lines) + "\n\n"


if __name__ == "__main__":
    rng = random.Random(17)
    text = "".join(pattern(rng, n) for n in range(1, 1501))
    with open("patterns.txt", "w") as f:
        f.write(text)
    print(f"wrote {len(text)} characters")
