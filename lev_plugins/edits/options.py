"""Settings of iterative refinement.

With an oracle, decoding takes some actions from the reference (Figure 5 of the LevT paper). ``delete``: the expert
makes all deletions. ``delete+placeholder``: the expert also chooses the number of placeholders in every slot, so the
model only chooses words. The result shows how much such hints from a person would help.
"""

from dataclasses import dataclass

ORACLES = ["none", "delete", "delete+placeholder"]
# flags of fairseq and of --task text_editing, also for exported models, with the names of their options
FAIRSEQ_FLAGS = {"iter_decode_max_iter": "max_iter", "iter_decode_eos_penalty": "gamma"}
REFINEMENT_TASK_FLAGS = {
    "min_words": "min_length",
    **{name: name for name in ("max_ratio", "max_ratio_floor", "soft_protection", "keep_bias")},
}


@dataclass(frozen=True)
class RefinementOptions:
    """When iterative refinement stops, what a decision must win by, and what is recorded."""

    max_iter: int = 10  # maximum number of iterations after the first
    gamma: float = 0.0  # subtracted from the log-probability of inserting nothing, section 3.3; negative: shorter texts
    max_ratio: float = 2.0  # a sentence with this many times the source's tokens, boundaries included, may not grow
    max_ratio_floor: int = 10  # unless it has fewer tokens than this, or a mark requests an insertion
    min_length: int = 0  # minimum number of tokens in a sentence, without <s> and </s>
    adaptive: bool = True  # False: run all iterations
    candidates: int = 1  # the greedy result and candidates - 1 sampled ones
    temperature: float = 1.0  # of the sampled candidates
    soft_protection: float = 3.0  # log-odds by which a change to a softly protected span must win
    keep_bias: float = 0.0  # log-odds by which a deletion from the draft, or an insertion into its gaps, must win
    oracle: str = "none"  # actions taken from the reference, one of ORACLES
    retain_history: bool = False
    inference_mode: bool = False  # decode under torch.inference_mode: no tensor of this process needs gradients
