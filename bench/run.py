#!/usr/bin/env python3
"""``python bench/run.py``: speed beside fairseq's own Levenshtein Transformer; see README.md."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench import report
from bench.main import main

if __name__ == "__main__":
    report.finish(main, "bench/run.py")
