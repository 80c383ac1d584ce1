"""One file per subcommand of ``lev-plugins``.

A command is a module with ``add_arguments(parser)`` and ``run(args) -> int`` (the exit status); ``main.py`` lists the
commands and imports only the one that is run, so a module imports at its top whatever its command needs. It raises
``UserError`` for what the user can mend.
"""
