"""Made-up positions with a score from material, piece squares and noise."""
import os
import random

VALUE = {"P": 100, "N": 310, "B": 330, "R": 500, "Q": 920}
FULL = "P" * 8 + "N" * 2 + "B" * 2 + "R" * 2 + "Q"


def position(rng):
    keep = rng.uniform(0.35, 1.0)
    board = {}
    squares = list(range(64))
    rng.shuffle(squares)
    inner = [s for s in squares if 8 <= s < 56]
    wk = next(s for s in squares if s < 24)
    bk = next(s for s in squares if s >= 40 and s != wk)
    board[wk], board[bk] = "K", "k"
    score = 0.0
    for side in (0, 1):
        for piece in FULL:
            if rng.random() > keep * rng.uniform(0.85, 1.05):
                continue
            pool = inner if piece == "P" else squares
            while pool and pool[-1] in board:
                pool.pop()
            if not pool:
                continue
            square = pool.pop()
            board[square] = piece if side == 0 else piece.lower()
            rank, file = divmod(square, 8)
            if side == 1:
                rank = 7 - rank
            bonus = 6 * rank + 4 * (3.5 - abs(file - 3.5)) - 10
            score += (1 if side == 0 else -1) * (VALUE[piece] + bonus)
    turn = rng.choice("wb")
    score += (25 if turn == "w" else -25) + rng.gauss(0, 30)
    rows = []
    for rank in range(7, -1, -1):
        row, gap = "", 0
        for file in range(8):
            p = board.get(rank * 8 + file)
            if p is None:
                gap += 1
            else:
                row += (str(gap) if gap else "") + p
                gap = 0
        rows.append(row + (str(gap) if gap else ""))
    p_white = 1 / (1 + 10 ** (-score / 400))
    r = rng.random()
    result = 1.0 if r < p_white - 0.1 else 0.0 if r > p_white + 0.1 else 0.5
    return f"{'/'.join(rows)} {turn} - - 0 {rng.randint(8, 60)};{score:.0f};{result}"


def write(path, n, seed):
    rng = random.Random(seed)
    with open(path, "w") as f:
        for _ in range(n):
            f.write(position(rng) + "\n")


if __name__ == "__main__":
    os.makedirs("data", exist_ok=True)
    write("data/train.epd", 61440, 1)
    write("data/val.epd", 4096, 2)
