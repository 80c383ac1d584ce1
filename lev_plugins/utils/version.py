"""The version of this package; ``setup.py`` reads it from this file."""

__version__ = "0.3.0"
