"""What our modes that see operators have in common."""

from __future__ import annotations

from torch.utils._python_dispatch import TorchDispatchMode


class UncompiledMode(TorchDispatchMode):
    """Never on while a compiled step runs. Torch would import its whole compiler, for seconds, to keep it off
    the mode's own code.
    """

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False
