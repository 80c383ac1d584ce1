"""``fairseq-generate`` in this process, which saves the seconds that a start takes."""

from __future__ import annotations

import io
import sys
from unittest import mock

from fairseq import options
from fairseq.dataclass.utils import convert_namespace_to_omegaconf


def generate(*words: object) -> str:
    """What it prints, with its log."""
    from fairseq_cli import generate as command

    parser = options.get_generation_parser()
    parser.add_argument("--arch", default="wav2vec2")  # as fairseq_cli.generate does
    with mock.patch.object(sys, "argv", ["fairseq-generate"]):  # where fairseq looks for --user-dir
        cfg = convert_namespace_to_omegaconf(options.parse_args_and_arch(parser, [str(word) for word in words]))
    out = io.StringIO()
    command._main(cfg, out)
    return out.getvalue()
