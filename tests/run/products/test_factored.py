"""Systems of linear equations that are solved with a matrix that has been factorized before."""

from __future__ import annotations

import pytest
import torch

from diagnose.run.child.products.factored import Factored


def test_from_the_second_solution_on_the_factors_are_there() -> None:
    factored, matrix, vector = Factored(), torch.eye(30), torch.ones(30)
    assert factored.left("linalg_solve", [matrix, vector], [1, 2]) is None
    assert factored.left("linalg_solve", [matrix, vector], [1, 3]) == pytest.approx(0.05 + 3 / 33)
    # as many right-hand sides as rows: 2 n³ of 2 2/3 n³ are left
    assert factored.left("linalg_solve", [matrix, matrix], [1, 1]) == pytest.approx(0.05 + 0.75)
    assert factored.left("linalg_solve", [matrix.expand(5, 30, 30), torch.ones(5, 30)], [1, 4]) == (
        pytest.approx(0.05 + 3 / 33)
    )
    assert factored.left("linalg_solve", [matrix, vector], [9, 3]) is None  # another matrix
    assert factored.left("matmul", [matrix, vector], [1, 3]) is None
    assert factored.left("linalg_solve", [torch.eye(4), vector[:4]], [5, 3]) is None
    assert factored.left("linalg_solve", [torch.eye(4), vector[:4]], [5, 3]) is None  # small
