"""``lev-plugins import-pretrained DIR OUT``: convert a Hugging Face model into dictionary, tokenizer and weights.

fairseq's symbols 0 to 3 are <s>, <pad>, </s> and <unk>; the other tokens follow in the order of their ids. The
embeddings of the model are put in that order, so after this command all ids are fairseq's.
"""

import argparse
import shutil
import sys
from pathlib import Path
from typing import Any

from fairseq.data import Dictionary

from lev_plugins.pretrained import library
from lev_plugins.text.lines import write_lines
from lev_plugins.text.pretrained import (
    BYTE_SPECIALS,
    SENTENCEPIECE,
    SYMBOLS,
    TOKENIZER,
    ByteTokenizer,
    LibraryTokenizer,
    SentencePieces,
    Tokenizer,
)
from lev_plugins.utils.errors import UserError, require
from lev_plugins.utils.files import all_or_nothing_folder, open_to_all, require_free
from lev_plugins.utils.json_schema import read_object
from lev_plugins.utils.ranges import bounded

MAX_SENTINELS = 10_000
# models on huggingface.co often include weights for other libraries as well
FILES = ["*.json", "*.txt", "*.model", "*.safetensors", "pytorch_model*.bin"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("input", metavar="DIR", help="folder with config.json, weights and tokenizer files")
    add("output", metavar="OUT", type=Path, help="folder to create, for --backbone and --pretrained-tokenizer")
    add("--hub", action="store_true", help="DIR is the name of a model to download from huggingface.co")


def run(args: argparse.Namespace) -> int:
    out: Path = args.output
    require_free(out, "OUT")
    source = fetch(args.input) if args.hub else Path(args.input)
    require(
        source.is_dir(),
        f"DIR {source} is not a folder; to download a model of that name from huggingface.co, add --hub",
    )
    with all_or_nothing_folder(out) as scratch:
        archs = convert_pretrained(source, scratch)
        open_to_all(scratch)
    sys.stdout.write(f"{out} is complete; train with --backbone {out} and --arch {' or '.join(archs)}\n")
    return 0


def fetch(name: str) -> Path:
    from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(name, allow_patterns=FILES))
    except Exception as error:  # no network, no such model, a gated model: each has its own class
        reason = " ".join(str(error).split())[:200]
        raise UserError(f"--hub: {name} cannot be downloaded from huggingface.co: {reason}") from error


def convert_pretrained(source: Path, out: Path) -> list[str]:
    """Writes all files to ``out`` and returns the architectures that take it."""
    config = library.read_config(source)
    tokenizer, special_ids = copy_tokenizer(source, out, config)
    symbols = name_symbols(tokenizer.vocabulary, special_ids, sentinels(source, config, tokenizer))
    dictionary, rows = order(symbols, special_ids)
    dictionary.save(str(out / "dict.txt"))
    write_lines(out / SYMBOLS, symbols)
    model, missing = library.read_complete(source)
    library.require_pretrained(model, missing, source)
    library.reorder_tables(model, rows)
    library.save_backbone(model, missing, dictionary, rows, out)
    gated = library.gated_arch(config.model_type)
    if gated == "gated_bert":
        word_width, state_width = library.widths(library.encoder_part(model))
        gated = gated if word_width == state_width else None  # an ELECTRA-small has two
    return ["levt (with --spelling)", "enct5", *([] if gated is None else [gated])]


def copy_tokenizer(source: Path, out: Path, config: Any) -> tuple[Tokenizer, dict[str, int]]:
    """Writes the tokenizer to ``out``; returns it and its ids for fairseq's <s> (if any), <pad>, </s>, <unk>."""
    pieces = source / SENTENCEPIECE
    if library.gated_arch(config.model_type) == "gated_t5" and pieces.is_file():
        sentencepieces = SentencePieces(pieces)
        shutil.copyfile(pieces, out / SENTENCEPIECE)
        unk = sentencepieces.vocabulary.index("<unk>")
        return sentencepieces, {"<pad>": config.pad_token_id, "</s>": config.eos_token_id, "<unk>": unk}
    pretrained = library.read_tokenizer(source)
    if type(pretrained).__name__ == "ByT5Tokenizer":
        return ByteTokenizer(), {name: i for i, name in enumerate(BYTE_SPECIALS)}
    backend = getattr(pretrained, "backend_tokenizer", None)
    if backend is None:
        raise UserError(f"{source}: its tokenizer has no fast version, {TOKENIZER}: choose another model")
    backend.save(str(out / TOKENIZER))
    tokenizer = LibraryTokenizer(out / TOKENIZER)  # which pads and cuts no text, whatever the file says
    ends = ends_of_text(tokenizer.library)
    ids = {"<pad>": pretrained.pad_token_id, "<unk>": pretrained.unk_token_id, **ends}
    require(
        None not in ids.values() and "</s>" in ids,
        f"{source}: its tokenizer must have symbols for padding and unknown words, put one symbol after a text, and at "
        "most one in front: choose another model",
    )
    return tokenizer, ids


def ends_of_text(backend: Any) -> dict[str, int]:
    """Returns the id that a tokenizer puts in front of a text, if it does, as <s>, and the one after it as </s>."""
    encoding = backend.encode("a")
    special, ids = encoding.special_tokens_mask, encoding.ids
    if len(special) < 2 or not special[-1] or any(special[1:-1]):
        return {}
    return {"</s>": ids[-1], **({"<s>": ids[0]} if special[0] else {})}


def sentinels(source: Path, config: Any, tokenizer: Tokenizer) -> list[str]:
    """Returns the names of T5's ids beyond its sentencepiece model: <extra_id_99> down to <extra_id_0>."""
    if config.model_type != "t5" or not isinstance(tokenizer, SentencePieces):
        return []
    path = source / "tokenizer_config.json"
    number = read_object(path).get("extra_ids", 100) if path.is_file() else 100
    bounded(f"{source}: extra_ids", number, 0, MAX_SENTINELS, whole=True)
    return [f"<extra_id_{i}>" for i in reversed(range(number))]


def name_symbols(vocabulary: list[str], special_ids: dict[str, int], more: list[str]) -> list[str]:
    """Returns the symbol of each id in dict.txt: its name, or <token-ID> if a line of text cannot contain that.

    >>> name_symbols(["[PAD]", "[SEP]", "[UNK]", "a", "a b", "</s>"], {"<pad>": 0, "</s>": 1, "<unk>": 2}, ["<m>"])
    ['<pad>', '</s>', '<unk>', 'a', '<token-4>', '<token-5>', '<m>']
    """
    special = {i: name for name, i in special_ids.items()}
    used = {"<s>", "<pad>", "</s>", "<unk>"}
    symbols = []
    for i, name in enumerate([*vocabulary, *more]):
        word = name != "" and name.isprintable() and " " not in name and name not in used
        symbol = special.get(i) or (name if word else f"<token-{i}>")
        used.add(symbol)
        symbols.append(symbol)
    return symbols


def order(symbols: list[str], special_ids: dict[str, int]) -> tuple[Dictionary, list[int]]:
    """Returns fairseq's dictionary, and the row of each of its symbols in the model's tables.

    If the model has no <s>, the row of <pad> stands in for it: it is never used.
    """
    dictionary = Dictionary()
    for symbol in symbols:
        if symbol not in special_ids:
            dictionary.add_symbol(symbol)
    rows = {symbol: i for i, symbol in enumerate(symbols)}
    return dictionary, [rows.get(symbol, special_ids["<pad>"]) for symbol in dictionary.symbols]
