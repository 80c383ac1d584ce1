"""Settings of iterative refinement."""

from __future__ import annotations

from dataclasses import dataclass

from lev_plugins.errors import require
from lev_plugins.generators.counts import ORACLES
from lev_plugins.ranges import MOST_LOG_ODDS, bounded

TEMPERATURES = 0.0001, 10_000  # beyond these, scores become indistinguishable


@dataclass(frozen=True)
class RefinementOptions:
    max_iter: int = 10  # maximum number of iterations after the first
    gamma: float = 0.0  # subtracted from the log-probability of inserting nothing, section 3.3; negative: shorter texts
    max_ratio: float = 2.0  # with this many times the source's tokens, a sentence gets no more placeholders, nor a slot
    max_ratio_floor: int = 10  # ... but every sentence may have this number of tokens
    min_length: int = 0  # minimum number of words in a sentence
    adaptive: bool = True  # False: run all iterations
    candidates: int = 1  # the greedy result and candidates - 1 sampled ones
    temperature: float = 1.0  # of the sampled candidates
    soft_protection: float = 3.0  # log-odds by which a change to a softly protected span must win
    keep_bias: float = 0.0  # log-odds by which any change to the draft must win
    oracle: str = "none"  # actions taken from the reference, one of ORACLES
    retain_history: bool = False
    cuda_graphs: bool = False  # a single sentence on a GPU: capture an iteration as a CUDA graph, and replay it
    trained_later: bool = True  # False: this process only decodes, so torch may keep less record of what it computes

    def __post_init__(self) -> None:
        bounded("--iter-decode-max-iter", self.max_iter, 0)
        bounded("--max-ratio", self.max_ratio, 0)
        bounded("--max-ratio-floor", self.max_ratio_floor, 0)
        bounded("--min-words", self.min_length, 0)
        bounded("--iter-decode-with-beam", self.candidates, 1)
        bounded("--soft-protection", self.soft_protection, 0, MOST_LOG_ODDS)
        bounded("--keep-bias", self.keep_bias, -MOST_LOG_ODDS, MOST_LOG_ODDS)
        bounded("--iter-decode-eos-penalty", self.gamma, -MOST_LOG_ODDS, MOST_LOG_ODDS)
        bounded("--temperature", self.temperature, *TEMPERATURES)
        require(self.oracle in ORACLES, f"--oracle must be one of {', '.join(ORACLES)}, but is {self.oracle!r}")
