"""Code that runs inside the user's process: standard library and torch only, relative imports only.

It is loaded under the private name ``_diagnose_child`` so that a user's own ``diagnose.py`` is no obstacle,
and it never imports torch by itself: everything starts when the script does.
"""
