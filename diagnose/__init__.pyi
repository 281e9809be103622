from diagnose.in_process import record as record
from diagnose.in_process import watch as watch

__all__ = ["__version__", "record", "watch"]

__version__: str
