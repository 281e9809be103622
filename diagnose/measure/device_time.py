"""A step's time on the busiest device: what runs there, by what launched it."""

from __future__ import annotations

import numpy as np

from diagnose.measure.kernel_names import short_name
from diagnose.measure.ledger import BUSY_ROWS
from diagnose.measure.names import Name, Naming
from diagnose.measure.selection import Selection
from diagnose.measure.spenders import UNNAMED, Pieces, Spender, most_inside, ns_inside
from diagnose.measure.totals import counted_once
from diagnose.measure.view import Intervals


class DeviceTime:
    """What the busiest device runs, by what launched it; time in which several events run counts once."""

    def __init__(self, view: Selection, naming: Naming) -> None:
        self.view = view
        self.rows = np.flatnonzero(view.device["device"].to_numpy() == view.devices[0])
        self.row, self.once = counted_once(view, self.rows)
        self.launch = view.device["launch"].to_numpy()[self.rows]
        linked = self.launch >= 0
        weights = np.maximum(self.once[:, 1] - self.once[:, 0], 0) * view.device_in_steps[self.rows]
        self.names = naming.names(np.bincount(self.launch[linked], weights[linked], minlength=len(view.host)))
        texts = view.device["name"].array
        shorts, of_category = np.unique(
            [short_name(str(name)) for name in texts.categories], return_inverse=True
        )
        self.kernels: list[str] = shorts.tolist()
        self.kernel = np.append(of_category, -1)[texts.codes[self.rows]]
        number = np.where(linked, np.append(self.names.of, -1)[self.launch], -1)
        told = self.names.told()
        # a call of the runtime says less than the kernel that it launches
        by_kernel = ~linked | ~np.append(told, False)[np.where(linked, self.launch, -1)]
        self.key = np.where(by_kernel, -2 - self.kernel, number)

    def pieces(self, row: str, intervals: Intervals) -> Pieces:
        ns = ns_inside(intervals, self.once)
        some = (ns > 0) & (self.row == BUSY_ROWS.index(row))
        return Pieces(self.key[some], self.kernel[some], ns[some])

    def spender(self, key: int, pieces: Pieces, ns: int) -> Spender:
        mine = self.rows[(self.key == key)]
        count = int(self.view.device_in_steps[mine].sum())
        if key < UNNAMED:
            return Spender(Name("kernel", self.kernels[-2 - key]), "", ns, count, device=mine)
        part = most_inside(pieces, ns)
        mostly = "" if part is None else self.kernels[part]
        return Spender(self.names.name(key), mostly, ns, count, device=mine)
