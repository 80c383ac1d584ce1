"""One file a subcommand of ``lev-plugins``.

A command is a module with ``NAME``, ``HELP``, ``add_arguments(parser)`` and ``run(args) -> int`` (the exit status), and
is listed in ``main.py``. It raises ``UserError`` for what the user can mend, and imports what is slow or optional
(matplotlib, transformers, ...) inside ``run``: all modules are imported whenever one command is run.
"""
