import torch


def soft_minimum(values, gamma):
    return -gamma * torch.logsumexp(-values / gamma, 0)


def soft_dtw(first, second, gamma=0.1):
    """Soft dynamic time warping (Cuturi and Blondel, 2017) of (batch, steps) against (batch, steps)."""
    cost = (first.unsqueeze(2) - second.unsqueeze(1)) ** 2
    batch, rows, columns = cost.shape
    far = cost.new_full((batch,), 1e6)
    table = [[far] * (columns + 1) for _ in range(rows + 1)]
    table[0][0] = cost.new_zeros(batch)
    for i in range(1, rows + 1):
        for j in range(1, columns + 1):
            before = torch.stack([table[i - 1][j - 1], table[i - 1][j], table[i][j - 1]])
            table[i][j] = cost[:, i - 1, j - 1] + soft_minimum(before, gamma)
    return table[rows][columns]
