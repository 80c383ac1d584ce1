"""What ``lev-plugins check`` does around the editor: the files it reads, its settings and its reports."""
