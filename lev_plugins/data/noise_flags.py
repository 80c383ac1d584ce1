"""Noise in the training set of a task that repairs it: flags, and what can be wrong with them."""

from dataclasses import Field, dataclass, field, fields, make_dataclass
from typing import Any, Optional

from fairseq.data import Dictionary, FairseqDataset, encoders
from fairseq.dataclass import FairseqDataclass

from lev_plugins.data.noisy import NoisySourceDataset, TextCodec
from lev_plugins.errors import require
from lev_plugins.noise import FLAGS, NoiseOptions, build_corruption
from lev_plugins.ranges import flag_name, rates

PREFIX = "--noise-"
TRAINING = (
    "training: each source is its target with noise, different in every epoch; {}. If the data was cut into pieces, "
    "give its --bpe and --tokenizer as well"
)
TRIED = 100  # examples on which --bpe and --tokenizer are tried
PIECES = {"▁": str.startswith, "@@": str.endswith}  # what the pieces of words begin or end with
MANY = 0.05  # of a dictionary's symbols: it is one of pieces


def as_fairseq_field(flag: Field) -> tuple[str, Any, Any]:
    """A flag of ``lev-plugins noise`` with another prefix; without a kind there is no noise."""
    meaning, kind, default = flag.metadata["help"].replace("--", PREFIX), flag.type, flag.default
    if flag.name == "kind":
        meaning, kind, default = TRAINING.format(meaning), Optional[kind], None
    return f"noise_{flag.name}", kind, field(default=default, metadata={"help": meaning})


NoiseFlags: Any = make_dataclass(
    "NoiseFlags", map(as_fairseq_field, FLAGS), bases=(FairseqDataclass,), namespace={"__module__": __name__}
)


@dataclass
class NoiseConfig(NoiseFlags):
    """The flags of ``lev-plugins noise``, after ``noise_``, and those that only a training has."""

    noise_share: float = field(
        default=1.0, metadata={"help": "share of the examples that get noise; the others keep the source they have"}
    )
    # the settings of --bpe and --tokenizer; under their own names, fairseq would put nothing but their kinds here
    noise_bpe: Any = "${bpe}"
    noise_tokenizer: Any = "${tokenizer}"


# what a training was told, as if it had been told nothing
WITHOUT_NOISE = {each.name: each.default for each in fields(NoiseConfig) if "help" in each.metadata}


def check_noise(cfg: NoiseConfig) -> None:
    """Without a kind there is no noise, and nothing to be said of it."""
    if cfg.noise_kind is not None:
        return
    for name, default in WITHOUT_NOISE.items():
        require(
            getattr(cfg, name) == default,
            f"{flag_name(name)} does nothing without --noise-kind: give a kind, such as random, or leave it out",
        )


def with_noise(pair: FairseqDataset, cfg: Any, source: Dictionary, target: Dictionary) -> FairseqDataset:
    """``pair`` with the noisy targets in place of its sources."""
    for flag, harmless in (("num_batch_buckets", 0), ("load_alignments", False)):
        require(
            getattr(cfg, flag) == harmless,
            f"{flag_name(flag)} does not go with --noise-kind: leave one out",
        )
    options = {flag.name: getattr(cfg, f"noise_{flag.name}") for flag in FLAGS}
    corrupt = build_corruption(NoiseOptions(**options, prefix=PREFIX))
    rates(cfg, "noise_share")
    layers = (encoders.build_bpe(cfg.noise_bpe), encoders.build_tokenizer(cfg.noise_tokenizer))
    reading, writing = (TextCodec(dictionary, *layers) for dictionary in (target, source))
    if not reading.layers:
        require_words(target)
    require_round_trip(pair, reading)
    return NoisySourceDataset(pair, corrupt, reading.decode, writing.encode, cfg.noise_share, cfg.max_source_positions)


def require_words(dictionary: Dictionary) -> None:
    """Without --bpe, noise takes what the dictionary has for words."""
    symbols = dictionary.symbols[dictionary.nspecial :]
    for mark, has in PIECES.items():
        count = sum(has(symbol, mark) for symbol in symbols)
        require(
            count <= MANY * len(symbols),
            f"--noise-kind changes words, but {count} of the dictionary's {len(symbols)} symbols have the {mark} of "
            "pieces: give the --bpe that cut the text, such as --bpe sentencepiece --sentencepiece-model FILE, or "
            "--bpe chars",
        )


def require_round_trip(pair: FairseqDataset, codec: TextCodec) -> None:
    """The --bpe and --tokenizer must be those that the data was made with."""
    targets = [pair[index]["target"] for index in range(min(len(pair), TRIED))]
    same = sum(codec.encode(codec.decode(target)).equal(target) for target in targets)
    require(
        2 * same >= len(targets),
        f"--noise-kind puts noise into plain text, but of the first {len(targets)} targets {len(targets) - same} are "
        "cut otherwise when they are put together and cut again: give the --bpe and --tokenizer that cut the text",
    )
