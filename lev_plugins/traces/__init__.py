"""The iterations in a generation log, shown on a terminal.

``log`` reads the output of fairseq, ``script`` finds the deletions and insertions between two states, ``rows`` lays a
sentence out as labelled lines of marked text, and ``terminal`` writes them.
"""
