"""What a view asks of names."""

from __future__ import annotations

import pandas as pd
import pytest

from diagnose.measure.view import _prefix, category_matches


@pytest.mark.parametrize(
    ("pattern", "prefix"),
    [
        ("^aten::mm$", "aten::mm"),
        ("^aten::(a|b)c", "aten::"),
        ("^aten::add_?$", "aten::add"),
        ("^aten::ab*", "aten::a"),
        ("^aten::ab{0}", "aten::a"),
        ("^aten::ab+", "aten::ab"),
        (r"^aten\b", "aten"),
        ("^a|b", ""),
        ("a|^b", ""),
        ("^a((a|b)|c)|d", ""),
        (r"^a\(|b", ""),
        ("^a[(]|b", ""),
        ("^a[^]|]*b", "a"),
        ("aten::mm", ""),
        ("(?i:^a)", ""),
        ("^(?!aten::)", ""),
    ],
)
def test_what_a_match_begins_with(pattern: str, prefix: str) -> None:
    assert _prefix(pattern) == prefix


def test_each_value_is_matched_as_re_search_would() -> None:
    values = pd.Categorical(["aten::mm", "my aten::mm", None, "aten::mm"])
    assert category_matches(values, "^aten::").tolist() == [True, False, False, True]
    assert category_matches(values, "aten::").tolist() == [True, True, False, True]
    assert category_matches(values, "^aten|^my").tolist() == [True, True, False, True]
