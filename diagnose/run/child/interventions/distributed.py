"""How DistributedDataParallel is set up."""

from __future__ import annotations

from typing import Any

from torch.nn.parallel import DistributedDataParallel

from .base import Sites, given
from .constructors import ConstructorIntervention


class DistributedArguments(ConstructorIntervention):
    """How gradients are put together and sent."""

    idle = "No DistributedDataParallel was made there."

    def __init__(
        self,
        sites: Sites,
        *,
        bucket_cap_mb: int | None = None,
        find_unused_parameters: bool | None = None,
        gradient_as_bucket_view: bool | None = None,
        static_graph: bool | None = None,
    ) -> None:
        super().__init__(
            sites,
            given(
                bucket_cap_mb=bucket_cap_mb,
                find_unused_parameters=find_unused_parameters,
                gradient_as_bucket_view=gradient_as_bucket_view,
                static_graph=static_graph,
            ),
        )

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
