"""`python -m diagnose`."""

from diagnose.commands.main import main
from diagnose.commands.own_process import prepare

if __name__ == "__main__":
    prepare()
    raise SystemExit(main())
