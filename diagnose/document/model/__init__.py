"""The result document, key by key: what each is, in which unit, and when it is null.

These definitions are its types, its JSON and docs/report.schema.json at once (`diagnose.document.stored`,
`diagnose.document.schema`). Keys are only ever added, with a default for documents that lack them; one that
changes its meaning or goes needs another number in `schema`. Times are ms of a plain step unless a key says
otherwise.
"""

from __future__ import annotations

from diagnose.document.model.costs import Average as Average
from diagnose.document.model.costs import Averages as Averages
from diagnose.document.model.costs import Kernel as Kernel
from diagnose.document.model.costs import Line as Line
from diagnose.document.model.costs import MemoryCurve as MemoryCurve
from diagnose.document.model.costs import MemoryHolder as MemoryHolder
from diagnose.document.model.costs import MemoryPart as MemoryPart
from diagnose.document.model.costs import MemoryPeak as MemoryPeak
from diagnose.document.model.costs import MemoryRemedy as MemoryRemedy
from diagnose.document.model.costs import Metric as Metric
from diagnose.document.model.costs import Operator as Operator
from diagnose.document.model.described import Scalar as Scalar
from diagnose.document.model.described import Verdict as Verdict
from diagnose.document.model.document import SCHEMA as SCHEMA
from diagnose.document.model.document import BesideKind as BesideKind
from diagnose.document.model.document import BesideProfile as BesideProfile
from diagnose.document.model.document import BesideRow as BesideRow
from diagnose.document.model.document import Document as Document
from diagnose.document.model.document import Written as Written
from diagnose.document.model.findings import CallSite as CallSite
from diagnose.document.model.findings import Culprit as Culprit
from diagnose.document.model.findings import Evidence as Evidence
from diagnose.document.model.findings import Finding as Finding
from diagnose.document.model.findings import Fix as Fix
from diagnose.document.model.findings import Lacking as Lacking
from diagnose.document.model.findings import Measured as Measured
from diagnose.document.model.findings import Patch as Patch
from diagnose.document.model.findings import PlanRow as PlanRow
from diagnose.document.model.findings import Predicted as Predicted
from diagnose.document.model.findings import Saving as Saving
from diagnose.document.model.ranks import Collective as Collective
from diagnose.document.model.ranks import JobStep as JobStep
from diagnose.document.model.ranks import Passage as Passage
from diagnose.document.model.ranks import PathPart as PathPart
from diagnose.document.model.ranks import RankRow as RankRow
from diagnose.document.model.ranks import Ranks as Ranks
from diagnose.document.model.run import Device as Device
from diagnose.document.model.run import DevicePart as DevicePart
from diagnose.document.model.run import LedgerRow as LedgerRow
from diagnose.document.model.run import RowAccount as RowAccount
from diagnose.document.model.run import Run as Run
from diagnose.document.model.run import SeldomWork as SeldomWork
from diagnose.document.model.run import Spender as Spender
from diagnose.document.model.run import SpenderKind as SpenderKind
from diagnose.document.model.run import Spread as Spread
from diagnose.document.model.run import Steps as Steps
from diagnose.document.model.run import Tool as Tool
from diagnose.document.model.verification import VERIFICATION_SCHEMA as VERIFICATION_SCHEMA
from diagnose.document.model.verification import Comparison as Comparison
from diagnose.document.model.verification import Curve as Curve
from diagnose.document.model.verification import FixResult as FixResult
from diagnose.document.model.verification import Peak as Peak
from diagnose.document.model.verification import Results as Results
from diagnose.document.model.verification import TrialState as TrialState
from diagnose.document.model.verification import Verification as Verification
from diagnose.document.model.watched import WatchLine as WatchLine

# Badges that other code asks for.
GPU_NOT_RECORDED = "GPU not recorded"
NOISY_RUN = "noisy run"
DISK_FULL = "disk full"
LITTLE_MEMORY = "little memory"
SAVINGS_UNKNOWN = "savings unknown"
DISTORTED = "distorted"
CUT_RECORDING = "cut recording"
DAMAGED_RECORDING = "damaged recording"

Place = Culprit | CallSite | Line | SeldomWork | WatchLine
"""What stands at a line of the user's own code."""
