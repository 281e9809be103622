"""How DistributedDataParallel is set up."""

from __future__ import annotations

from typing import Any

from torch.nn.parallel import DistributedDataParallel

from .base import Sites
from .constructors import ConstructorIntervention


class DistributedArguments(ConstructorIntervention):
    """Keyword arguments of DistributedDataParallel: gradient_as_bucket_view, static_graph,
    find_unused_parameters, bucket_cap_mb.
    """

    idle = "No DistributedDataParallel was made there."

    def __init__(self, sites: Sites, **wanted: Any) -> None:
        super().__init__(sites, wanted)

    def install(self) -> None:
        self.patches.replace(
            DistributedDataParallel, "__init__", self.rewriting(DistributedDataParallel.__init__)
        )

    def replacements(self, instance: Any, arguments: dict[str, Any]) -> dict[str, Any]:
        unknown = next((name for name in self.wanted if name not in arguments), None)
        if unknown is not None:
            self.pass_over(f"DistributedDataParallel of this torch has no argument {unknown}.")
            return {}
        return self.differing(arguments, self.wanted)
