"""One module per subcommand of ``lev-plugins``.

A command's module has ``add_arguments(parser)`` and ``run(args) -> int`` (the exit status). ``main.py`` lists the
commands and imports only the one that runs, so each module imports what it needs at the top. It raises ``UserError``
for mistakes that the user can correct.
"""
