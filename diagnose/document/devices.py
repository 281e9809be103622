"""Every device of a recording with several: one process may drive them all, a file may hold several ranks."""

from __future__ import annotations

from diagnose.document import model
from diagnose.measure.ledger import BUSY_ROWS, TITLES, Ledger, device_ledger
from diagnose.measure.measured import Measured


def device_rows(measured: Measured) -> list[model.Device]:
    """Each device with events, by number; empty where there are not several, or no step."""
    view = measured.timeline
    if view is None or len(view.devices) < 2 or not view.step_count:
        return []
    return [_device(device_ledger(view, ordinal)) for ordinal in sorted(view.devices)]


def _device(ledger: Ledger) -> model.Device:
    shares = {row: ledger.share(row) for row in ledger.rows if ledger.ns(row)}
    return model.Device(
        device=ledger.device,
        busy_share=sum(shares.get(row, 0.0) for row in BUSY_ROWS),
        rows=[
            model.DevicePart(row=row, title=TITLES[row][0], share=part)
            for row, part in sorted(shares.items(), key=lambda of: -of[1])
        ],
    )
