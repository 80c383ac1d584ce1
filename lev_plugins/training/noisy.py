"""Noise that is added to the training set of a correction task while batches are made: flags and datasets."""

from collections.abc import Callable, Iterable
from dataclasses import Field, dataclass, fields, make_dataclass
from typing import Any, Optional, TypedDict

from fairseq.data import Dictionary, FairseqDataset, encoders
from fairseq.dataclass import FairseqDataclass
from torch import Tensor

from lev_plugins.edits.batch_words import SpeltRow
from lev_plugins.noise import NOISE_FLAGS, Corruption, NoiseOptions, build_corruption
from lev_plugins.noise.draws import stream
from lev_plugins.text.tokenise import BPE
from lev_plugins.training.batching import SharedEpochDataset
from lev_plugins.utils import ranges
from lev_plugins.utils.errors import require
from lev_plugins.utils.ranges import flag_name

# stands for an unknown word in plain text: a private-use character that no noise changes and no dictionary contains
UNKNOWN_CHAR = "\ue000"
PREFIX = "--noise-"
TRAINING = (
    "training: make each source from its target by adding noise, different in every epoch; {}. If the data was cut "
    "into pieces, also give its --bpe and --tokenizer"
)
CHECKED_EXAMPLES = 100  # to check --bpe and --tokenizer
PIECES = {"▁": str.startswith, "@@": str.endswith}  # how the pieces of words begin or end
MAX_MARKED = 0.05  # if a larger share of a dictionary's symbols has such a mark, they are pieces


class PairExample(TypedDict):
    """A sentence pair of fairseq's ``LanguagePairDataset``."""

    id: int
    source: Tensor
    target: Tensor


class NoisySourceDataset(SharedEpochDataset):
    """Replaces the source of each example by its target with noise.

    The noise of an example depends only on (seed, epoch, index), not on workers, batches or processes. It is the noise
    that ``lev-plugins noise --seed SEED --epoch EPOCH`` adds to line ``index`` of the text.
    """

    def __init__(
        self,
        pair: FairseqDataset,
        corrupt: Corruption,
        decode: Callable[[Tensor], str],
        encode: Callable[[str], Tensor],
        share: float = 1.0,
        longest: int | None = None,
    ) -> None:
        """
        Args:
            pair: examples that have a "source" and a "target"
            corrupt: the noise, with its seed
            decode: makes plain text of target tokens
            encode: makes source tokens of plain text
            share: share of the examples whose source is replaced; the others stay unchanged
            longest: if the noisy source has more tokens than this, the source stays unchanged
        """
        super().__init__(pair)
        self.corrupt, self.decode, self.encode = corrupt, decode, encode
        self.share, self.longest = share, longest

    def __getitem__(self, index: int) -> PairExample:
        example: PairExample = self.dataset[index]
        if not self.is_chosen(index, self.epoch):
            return example
        noisy = self.encode(self.corrupt(self.decode(example["target"]), int(index), self.epoch))
        return example if self.longest is not None and noisy.numel() > self.longest else {**example, "source": noisy}

    def is_chosen(self, index: int, epoch: int) -> bool:
        """Returns whether this example gets noise in this epoch."""
        # the index may be a NumPy integer, which has only 64 bits
        return self.share >= 1 or stream(self.corrupt.options.seed, epoch, int(index), " share")() < self.share


class TextCodec:
    """Converts between plain text and the tokens of a binarised side, by fairseq's ``--bpe`` and ``--tokenizer``.

    In plain text, ``UNKNOWN_CHAR`` stands for an unknown word.
    """

    def __init__(self, dictionary: Dictionary, bpe: BPE | None = None, tokenizer: BPE | None = None) -> None:
        require(
            UNKNOWN_CHAR not in dictionary.indices,
            "the dictionary contains the character U+E000, which --noise-kind reserves for unknown words: remove it",
        )
        self.dictionary = dictionary
        self.layers = [layer for layer in (tokenizer, bpe) if layer is not None]

    def decode(self, tokens: Tensor, unknown: Iterable[str] = ()) -> str:
        """Returns the plain text of tokens; ``unknown`` is how its unknown words are spelt, if that is known."""
        text = self.dictionary.string(tokens, unk_string=UNKNOWN_CHAR)
        for word in unknown:
            text = text.replace(UNKNOWN_CHAR, word, 1)
        for layer in reversed(self.layers):
            text = layer.decode(text)
        return text

    def encode(self, text: str) -> Tensor:
        return self.dictionary.encode_line(self.tokenise(text), add_if_not_exist=False).long()

    def tokenise(self, text: str) -> str:
        for layer in self.layers:
            text = layer.encode(text)
        return text


class NoisyWords:
    """The noise of a dataset as words, so that unknown ones keep their spelling."""

    def __init__(self, noise: NoisySourceDataset, codec: TextCodec, longest: int, targets: FairseqDataset) -> None:
        self.noise, self.codec, self.longest, self.targets = noise, codec, longest, targets

    def __call__(self, index: int, epoch: int) -> list[str] | None:
        """Returns the words of an example; None if its ids say as much, or if there would be too many."""
        target, has_noise = self.targets[index], self.noise.is_chosen(index, epoch)
        ids, unknown = (target.ids, target.unknown) if isinstance(target, SpeltRow) else (target, ())
        if not (has_noise or unknown):
            return None
        text = self.codec.decode(ids, unknown)
        words = self.codec.tokenise(self.noise.corrupt(text, int(index), epoch) if has_noise else text).split()
        return None if len(words) + 2 > self.longest else words


# ---- flags -----------------------------------------------------------------------------------------------------------


def as_fairseq_field(flag: Field) -> tuple[str, object, Field]:
    """Returns a flag of ``lev-plugins noise`` as name, type and field with a prefix; the kind is optional."""
    meaning, kind, default = flag.metadata["help"].replace("--", PREFIX), flag.type, flag.default
    if flag.name == "kind":
        meaning, kind, default = TRAINING.format(meaning), Optional[kind], None
    return f"noise_{flag.name}", kind, ranges.flag(default, meaning)


NoiseFlags: Any = make_dataclass(
    "NoiseFlags", map(as_fairseq_field, NOISE_FLAGS), bases=(FairseqDataclass,), namespace={"__module__": __name__}
)


@dataclass
class NoiseConfig(NoiseFlags):
    """The flags of ``lev-plugins noise``, prefixed by ``noise_``, and those that only training has."""

    noise_share: float = ranges.flag(1.0, "share of the examples that get noise; the others keep their source")
    # the settings of --bpe and --tokenizer; under those names, fairseq would store only their kinds
    noise_bpe: Any = "${bpe}"
    noise_tokenizer: Any = "${tokenizer}"


# overrides that remove the noise of a training
WITHOUT_NOISE = {field.name: field.default for field in fields(NoiseConfig) if "help" in field.metadata}


def check_noise(cfg: NoiseConfig) -> None:
    """Requires that the other flags of noise are not set without a kind."""
    if cfg.noise_kind is not None:
        return
    for name, default in WITHOUT_NOISE.items():
        require(
            getattr(cfg, name) == default,
            f"{flag_name(name)} requires --noise-kind: add a kind, such as random, or leave it out",
        )


def noise_and_codec(
    pair: FairseqDataset, cfg: NoiseConfig, source: Dictionary, target: Dictionary
) -> tuple[NoisySourceDataset, TextCodec]:
    """Returns ``pair`` with noisy targets as its sources, and the codec that tokenises these."""
    require(not cfg.load_alignments, "--load-alignments cannot be used with --noise-kind: leave one out")
    options = {flag.name: getattr(cfg, f"noise_{flag.name}") for flag in NOISE_FLAGS}
    corrupt = build_corruption(NoiseOptions(**options, prefix=PREFIX))
    layers = (encoders.build_bpe(cfg.noise_bpe), encoders.build_tokenizer(cfg.noise_tokenizer))
    target_codec, source_codec = (TextCodec(dictionary, *layers) for dictionary in (target, source))
    if not target_codec.layers:
        require_words(target)
    require_round_trip(pair, target_codec)
    longest = cfg.max_source_positions
    decode, encode = target_codec.decode, source_codec.encode
    return NoisySourceDataset(pair, corrupt, decode, encode, cfg.noise_share, longest), source_codec


def require_words(dictionary: Dictionary) -> None:
    """Requires that the symbols of a dictionary are words, as noise without --bpe assumes."""
    symbols = dictionary.symbols[dictionary.nspecial :]
    for mark, has in PIECES.items():
        count = sum(has(symbol, mark) for symbol in symbols)
        require(
            count <= MAX_MARKED * len(symbols),
            f"--noise-kind changes words, but {count} of the dictionary's {len(symbols)} symbols have the mark {mark} "
            "of pieces: give the --bpe that cut the text, such as --bpe sentencepiece --sentencepiece-model FILE, or "
            "--bpe chars",
        )


def require_round_trip(pair: FairseqDataset, codec: TextCodec) -> None:
    """Requires that --bpe and --tokenizer restore the targets, and so are those of the data."""
    targets = [pair[index]["target"] for index in range(min(len(pair), CHECKED_EXAMPLES))]
    targets = [target[target.ne(codec.dictionary.bos())] for target in targets]
    unchanged = sum(codec.encode(codec.decode(target)).equal(target) for target in targets)
    require(
        2 * unchanged >= len(targets),
        f"--noise-kind adds noise to plain text, but {len(targets) - unchanged} of the first {len(targets)} targets "
        "change when they are joined and cut again: give the --bpe and --tokenizer that cut the text",
    )
