"""fairseq plug-ins for text editing. Importing this package registers them all, once and silently."""

__version__ = "0.1.0"

if __name__ == "lev_plugins":
    from lev_plugins import registration as registration
else:  # --user-dir is a link with a name of its own: fairseq imports a package by the name of its folder
    from .links import stand_in

    stand_in(__name__, __path__[0])
