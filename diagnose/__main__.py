"""`python -m diagnose`."""

from diagnose.commands.main import main

if __name__ == "__main__":
    raise SystemExit(main())
