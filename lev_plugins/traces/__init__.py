"""The iterations in a generation log, shown on a terminal or as a page.

``log`` reads the output of fairseq, ``script`` finds the deletions and insertions between two states, ``rows`` lays a
sentence out as labelled lines of marked text, ``terminal`` writes them, and ``page`` makes a page of them.
"""
