"""No torch at all."""

import sys

assert "torch" not in sys.modules
print("hello", *sys.argv[1:])
