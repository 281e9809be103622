"""Every device in a line, where a recording has several."""

from __future__ import annotations

from diagnose.document.model import Device, Document
from diagnose.document.text import share

COLUMNS = ("Device", "Busy", "Largest parts of its step")
SHOWN_PARTS, LEAST_SHARE = 3, 0.01
FAR_LESS = 0.5  # of the busiest one's time: devices that share the work are about as busy as each other


def rows(document: Document) -> list[tuple[str, str, str]]:
    return [(one.device, share(one.busy_share), _parts(one)) for one in document.devices]


def note(document: Document) -> str:
    """Which device the ledger is of, and which ones are far less busy than it."""
    most = max(one.busy_share for one in document.devices)
    idle = [one for one in document.devices if one.busy_share < FAR_LESS * most]
    whose = f"Shares are of the recorded step; the ledger above is of {document.ledger_device}, the busiest."
    if not idle:
        return whose
    names = ", ".join(one.device for one in idle[:SHOWN_PARTS])
    more = f" and {len(idle) - SHOWN_PARTS:,} more" if len(idle) > SHOWN_PARTS else ""
    are = "is" if len(idle) == 1 else "are"
    return (
        f"{names}{more} {are} far less busy than {document.ledger_device}: work is not spread evenly. {whose}"
    )


def _parts(device: Device) -> str:
    largest = [part for part in device.rows if part.share >= LEAST_SHARE][:SHOWN_PARTS]
    return ", ".join(f"{part.title} {share(part.share)}" for part in largest)
