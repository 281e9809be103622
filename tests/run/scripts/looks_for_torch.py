"""As many libraries do: find out whether torch is installed without importing it."""

import importlib.util

FOUND = importlib.util.find_spec("torch") is not None and importlib.util.find_spec("torch_xla") is None
