"""What our own calls do with warnings."""

from __future__ import annotations

import warnings

from diagnose.run.child import unwarned as module
from diagnose.run.child.facts.machine import environment
from diagnose.run.child.unwarned import no_warnings_of_ours, unwarned


def test_a_warning_that_was_shown_does_not_come_again() -> None:
    """Python shows one once a place, and forgets which after `warnings.catch_warnings`."""
    environment()  # the first call asks another program for the platform
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("default")
        for _ in range(3):
            warnings.warn("from the script", stacklevel=1)
            environment()
    assert [str(warning.message) for warning in shown] == ["from the script"]


def test_no_warning_of_ours_is_shown_or_raised() -> None:
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("error")
        before = list(warnings.filters)
        with unwarned():
            warnings.warn("from our call", stacklevel=1)
        assert list(warnings.filters) == before
    assert shown == []


def test_no_warning_stands_at_a_line_of_ours() -> None:
    warn = "import warnings; warnings.warn('as torch does, of who calls it', UserWarning, stacklevel=1)"
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("default")
        no_warnings_of_ours()
        exec(warn, {"__name__": f"{module.__package__}.dataflow"})
        assert shown == []
        exec(warn, {"__name__": "__main__"})
        exec(warn, {"__name__": "diagnose_of_the_user"})
    assert len(shown) == 2
