"""Transient groundwater flow on a regular grid, implicit in time."""
import torch
from torch import nn


def face_differences(rows, cols):
    """Signed incidence matrix (faces, cells) of the inner faces and the cells they join."""
    cell = torch.arange(rows * cols).view(rows, cols)
    left = torch.cat([cell[:, :-1].flatten(), cell[:-1].flatten()])
    right = torch.cat([cell[:, 1:].flatten(), cell[1:].flatten()])
    d = torch.zeros(len(left), rows * cols)
    d[torch.arange(len(left)), left] = -1.0
    d[torch.arange(len(left)), right] = 1.0
    return d, left, right


class Aquifer(nn.Module):
    def __init__(self, rows=14, cols=16, storage=0.12, dt=0.5):
        super().__init__()
        d, left, right = face_differences(rows, cols)
        self.register_buffer("differences", d)
        self.register_buffer("left", left)
        self.register_buffer("right", right)
        river = torch.zeros(rows, cols)
        river[:, 0] = 4.0
        self.register_buffer("leakage", river.flatten())
        self.storage = storage / dt
        self.cells = rows * cols

    def conductance(self, log_k):
        """Harmonic mean of the conductivities of the two cells at each face."""
        k = log_k.exp()
        a, b = k[self.left], k[self.right]
        return 2 * a * b / (a + b)

    def system(self, log_k):
        faces = torch.diag(self.conductance(log_k))
        flow = self.differences.T @ faces @ self.differences
        return flow + torch.diag(self.leakage + self.storage)

    def simulate(self, log_k, pumping, stage):
        """Heads (times, cells, scenarios); pumping likewise, stage (times, scenarios)."""
        matrix = self.system(log_k)
        head = stage[0].expand(self.cells, -1)
        heads = []
        for rate, level in zip(pumping, stage):
            rhs = self.storage * head + self.leakage[:, None] * level - rate
            head = torch.linalg.solve(matrix, rhs)
            heads.append(head)
        return torch.stack(heads)
