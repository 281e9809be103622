"""The host: processors and threads."""

from __future__ import annotations

from diagnose.measure.measured import fact_metric

fact_metric("cpu_core_count", "count", "processor cores this process may use")
fact_metric("thread_count", "count", "threads torch uses for one operator")
