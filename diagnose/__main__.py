"""`python -m diagnose`."""

from diagnose.commands.main import main
from diagnose.commands.pandas_alone import import_pandas_alone

if __name__ == "__main__":
    import_pandas_alone()
    raise SystemExit(main())
