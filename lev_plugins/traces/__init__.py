"""What a generation log tells of each iteration, for a reader: on a terminal, or as a page.

``log`` reads what fairseq prints, ``script`` finds out what was deleted and inserted between two states, ``rows`` lays
a sentence out as labelled lines of marked text, and ``terminal`` and ``page`` write these down.
"""
