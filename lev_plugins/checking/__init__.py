<<<<<<< HEAD
"""Typos in the prose of files: ``lev-plugins check``."""
=======
"""What ``lev-plugins check`` does around the editor: the files it reads, its settings and its reports."""
>>>>>>> checkcli
