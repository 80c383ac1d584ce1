"""Noise in the training set of a correction task: flags and their checks."""

from dataclasses import Field, dataclass, field, fields, make_dataclass
from typing import Any, Optional

from fairseq.data import Dictionary, FairseqDataset, encoders
from fairseq.dataclass import FairseqDataclass

from lev_plugins.data.noisy import NoisySourceDataset, NoisyWords, TextCodec
from lev_plugins.errors import require
from lev_plugins.noise import FLAGS, NoiseOptions, build_corruption
from lev_plugins.ranges import flag_name

PREFIX = "--noise-"
TRAINING = (
    "training: make each source from its target by adding noise, different in every epoch; {}. If the data was cut "
    "into pieces, also give its --bpe and --tokenizer"
)
TRIED = 100  # examples used to check --bpe and --tokenizer
PIECES = {"▁": str.startswith, "@@": str.endswith}  # how the pieces of words begin or end
MANY = 0.05  # if more of a dictionary's symbols have such a mark, they are pieces


def as_fairseq_field(flag: Field) -> tuple[str, Any, Any]:
    """A flag of ``lev-plugins noise`` with a prefix; the kind is optional, and without it there is no noise."""
    meaning, kind, default = flag.metadata["help"].replace("--", PREFIX), flag.type, flag.default
    if flag.name == "kind":
        meaning, kind, default = TRAINING.format(meaning), Optional[kind], None
    return f"noise_{flag.name}", kind, field(default=default, metadata={"help": meaning})


NoiseFlags: Any = make_dataclass(
    "NoiseFlags", map(as_fairseq_field, FLAGS), bases=(FairseqDataclass,), namespace={"__module__": __name__}
)


@dataclass
class NoiseConfig(NoiseFlags):
    """The flags of ``lev-plugins noise``, prefixed by ``noise_``, and those that only training has."""

    noise_share: float = field(
        default=1.0, metadata={"help": "share of the examples that get noise; the others keep their source"}
    )
    # the settings of --bpe and --tokenizer; under those names, fairseq would store only their kinds
    noise_bpe: Any = "${bpe}"
    noise_tokenizer: Any = "${tokenizer}"


# overrides that remove the noise of a training
WITHOUT_NOISE = {each.name: each.default for each in fields(NoiseConfig) if "help" in each.metadata}


def check_noise(cfg: NoiseConfig) -> None:
    """Without a kind there is no noise, so its other flags must not be set."""
    if cfg.noise_kind is not None:
        return
    for name, default in WITHOUT_NOISE.items():
        require(
            getattr(cfg, name) == default,
            f"{flag_name(name)} requires --noise-kind: add a kind, such as random, or leave it out",
        )


def noisy_words(pair: FairseqDataset, cfg: Any, dictionary: Dictionary, longest: int) -> NoisyWords:
    """The targets of ``pair`` with noise, as words; with both boundaries, at most ``longest`` tokens."""
    noise, codec = noise_and_codec(pair, cfg, dictionary, dictionary)
    return NoisyWords(noise, codec, longest)


def with_noise(pair: FairseqDataset, cfg: Any, source: Dictionary, target: Dictionary) -> FairseqDataset:
    """``pair`` with noisy targets as its sources."""
    return noise_and_codec(pair, cfg, source, target)[0]


def noise_and_codec(
    pair: FairseqDataset, cfg: Any, source: Dictionary, target: Dictionary
) -> tuple[NoisySourceDataset, TextCodec]:
    """``pair`` with noisy targets as its sources, and the codec that writes these."""
    require(not cfg.load_alignments, "--load-alignments cannot be used with --noise-kind: leave one out")
    options = {flag.name: getattr(cfg, f"noise_{flag.name}") for flag in FLAGS}
    corrupt = build_corruption(NoiseOptions(**options, prefix=PREFIX))
    layers = (encoders.build_bpe(cfg.noise_bpe), encoders.build_tokenizer(cfg.noise_tokenizer))
    reading, writing = (TextCodec(dictionary, *layers) for dictionary in (target, source))
    if not reading.layers:
        require_words(target)
    require_round_trip(pair, reading)
    longest = cfg.max_source_positions
    return NoisySourceDataset(pair, corrupt, reading.decode, writing.encode, cfg.noise_share, longest), writing


def require_words(dictionary: Dictionary) -> None:
    """Without --bpe, noise treats dictionary symbols as words."""
    symbols = dictionary.symbols[dictionary.nspecial :]
    for mark, has in PIECES.items():
        count = sum(has(symbol, mark) for symbol in symbols)
        require(
            count <= MANY * len(symbols),
            f"--noise-kind changes words, but {count} of the dictionary's {len(symbols)} symbols have the mark {mark} "
            "of pieces: give the --bpe that cut the text, such as --bpe sentencepiece --sentencepiece-model FILE, or "
            "--bpe chars",
        )


def require_round_trip(pair: FairseqDataset, codec: TextCodec) -> None:
    """The --bpe and --tokenizer must be those that cut the data."""
    targets = [pair[index]["target"] for index in range(min(len(pair), TRIED))]
    targets = [target[target.ne(codec.dictionary.bos())] for target in targets]
    same = sum(codec.encode(codec.decode(target)).equal(target) for target in targets)
    require(
        2 * same >= len(targets),
        f"--noise-kind adds noise to plain text, but {len(targets) - same} of the first {len(targets)} targets change "
        "when they are joined and cut again: give the --bpe and --tokenizer that cut the text",
    )
