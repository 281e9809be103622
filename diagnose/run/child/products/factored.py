"""Systems of linear equations that are solved with a matrix that has been factorized before."""

from __future__ import annotations

from torch import Tensor

_SOLVERS = {"solve", "linalg_solve", "linalg_solve_ex"}
_SIZE_AT_LEAST = 16
_FIXED = 0.05


class Factored:
    """The matrices, by the number of their value."""

    def __init__(self) -> None:
        self._matrices: set[int] = set()

    def left(self, name: str, given: list[Tensor], numbers: list[int]) -> float | None:
        """The share of the solver's time that is left with factors that are there; None for another call, or
        a new matrix. Of n rows, factors take 2/3 n³ operations, and each right-hand side 2 n² (Golub & Van
        Loan, Matrix Computations, 3.1 and 3.2).
        """
        if name not in _SOLVERS or len(given) < 2 or given[0].dim() < 2:
            return None
        if given[0].shape[-1] < _SIZE_AT_LEAST or len(numbers) < 2:
            return None
        if numbers[0] not in self._matrices:
            self._matrices.add(numbers[0])
            return None
        matrix, right = given[:2]
        is_vector = right.dim() == 1 or right.dim() == matrix.dim() - 1
        columns = 1 if is_vector else right.shape[-1]
        return min(1.0, _FIXED + 3 * columns / (matrix.shape[-1] + 3 * columns))
