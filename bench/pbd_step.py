#!/usr/bin/env python3
"""``python bench/pbd_step.py``: a decoding step of ``pbd`` beside one of fairseq's Transformer; see README.md."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench import report
from bench.steps import main

if __name__ == "__main__":
    report.finish(main, "bench/pbd_step.py")
