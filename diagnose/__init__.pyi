from diagnose.in_process import record as record

__all__ = ["__version__", "record"]

__version__: str
