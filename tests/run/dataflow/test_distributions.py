"""Checks of distributions, and normal ones whose covariances are all 0."""

from __future__ import annotations

import pytest
import torch

from tests.run.dataflow.looking import seen, text_of


def test_checks_of_a_distribution_count_at_the_line_that_asks_for_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Those of its parameters, and those of the value whose probability is asked for."""
    logits = torch.randn(8, 3)
    # torch.compile switches them off in the whole process
    monkeypatch.setattr(torch.distributions.Distribution, "_validate_args", True)

    def step() -> None:
        policy = torch.distributions.Categorical(logits=logits)
        policy.log_prob(policy.sample()).sum()
        torch.distributions.Normal(logits, 1.0, validate_args=False).log_prob(logits).sum()

    checked = {text_of(one) for one in seen(step)["checks"]}
    assert checked == {
        "policy = torch.distributions.Categorical(logits=logits)",
        "policy.log_prob(policy.sample()).sum()",
    }


def diagonal(covariance: torch.Tensor) -> set[str]:
    mean = torch.randn(6, 3, requires_grad=True)

    def step() -> None:
        policy = torch.distributions.MultivariateNormal(mean, covariance)
        policy.log_prob(torch.zeros(3)).sum()

    return {text_of(one) for one in seen(step)["diagonal"]}


def test_a_matrix_of_covariances_that_are_all_0_counts_at_the_lines_that_use_it() -> None:
    assert diagonal(torch.diag_embed(torch.rand(6, 3) + 0.1)) == {
        "policy = torch.distributions.MultivariateNormal(mean, covariance)",
        "policy.log_prob(torch.zeros(3)).sum()",
    }
    assert diagonal(torch.eye(3) + 0.1) == set()
