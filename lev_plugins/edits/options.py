"""Settings of iterative refinement.

With an oracle, decoding takes some actions from the reference (Figure 5 of the LevT paper). ``delete``: the expert
makes all deletions. ``delete+placeholder``: the expert also chooses the number of placeholders in every slot, so the
model only chooses words. The result shows how much such hints from a person would help.
"""

from dataclasses import dataclass

ORACLES = ["none", "delete", "delete+placeholder"]
# flags that hold whatever computes a model, and what they are called here
OF_FAIRSEQ = {"iter_decode_max_iter": "max_iter", "iter_decode_eos_penalty": "gamma"}
OF_TASK = {
    "min_words": "min_length",
    **{name: name for name in ("max_ratio", "max_ratio_floor", "soft_protection", "keep_bias")},
}


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
    trained_later: bool = True  # False: this process only decodes, so torch may keep less record of what it computes
