"""Endless sudoku puzzles: a solved grid shuffled by its symmetries, then some cells hidden."""
import torch

SIDE, CELLS = 9, 81


def base_grid():
    r, c = torch.arange(SIDE).view(-1, 1), torch.arange(SIDE)
    return (3 * (r % 3) + r // 3 + c) % SIDE


def shuffled_lines(n, gen):
    """(n, 9) permutations of lines that keep the bands of three together."""
    bands = torch.rand(n, 3, generator=gen).argsort(1)
    inner = torch.rand(n, 3, 3, generator=gen).argsort(2)
    return (bands.unsqueeze(2) * 3 + inner).flatten(1)


def solutions(n, gen):
    rows, cols = shuffled_lines(n, gen), shuffled_lines(n, gen)
    grid = base_grid()[rows.unsqueeze(2), cols.unsqueeze(1)]
    digits = torch.rand(n, SIDE, generator=gen).argsort(1)
    grid = digits.gather(1, grid.flatten(1))
    flip = (torch.rand(n, 1, generator=gen) < 0.5)
    return torch.where(flip, grid.view(n, SIDE, SIDE).transpose(1, 2).flatten(1), grid)


def stream(batch, hidden, seed):
    """Yields (given, solution): digits 1..9 with 0 for a hidden cell, and 0..8; `hidden` is a (low, high) range."""
    gen = torch.Generator().manual_seed(seed)
    while True:
        solution = solutions(batch, gen)
        holes = torch.randint(hidden[0], hidden[1] + 1, (batch, 1), generator=gen)
        rank = torch.rand(batch, CELLS, generator=gen).argsort(1)
        yield torch.where(rank < holes, 0, solution + 1), solution


def broken_rules(answer):
    """Share of rows, columns and boxes in which some digit is missing."""
    g = torch.nn.functional.one_hot(answer, SIDE).view(-1, 3, 3, 3, 3, SIDE)
    counts = torch.cat([g.sum((3, 4)).flatten(1, 2), g.sum((1, 2)).flatten(1, 2), g.sum((2, 4)).flatten(1, 2)], 1)
    return (counts != 1).any(-1).float().mean()
