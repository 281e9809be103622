"""Stand-in, imported and never used; also gives back the numpy names that the code of the time expects."""
import numpy as np

for _n, _t in (("int", int), ("float", float), ("bool", bool)):
    if _n not in np.__dict__:
        setattr(np, _n, _t)
