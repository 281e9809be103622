"""Code that runs inside the user's process: standard library and torch only, relative imports only.

It is loaded under the private name ``_diagnose_child`` so that a user's own ``diagnose.py`` is no obstacle,
and it never imports torch by itself: everything starts when the script does.

``import_hook`` waits for torch, and starts a `session` (a run that is recorded), a `trial` (one that is
compared) or `watching`. A session listens to the clock (``steps``) and leads through ``phases``: plain
steps, in which only ``facts``, ``loading``, ``lines`` and ``memory`` are looked at; recorded ones
(``recording``); then the ``dataflow`` of one step with its ``products``, and ``trials``. ``interventions``
are the fixes of a trial. ``source`` reads the script's loops. What lies beside these folders serves several
of them.
"""
