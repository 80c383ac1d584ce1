"""Tiny models with random weights and trained tokenizers, saved as folders like those on huggingface.co."""

import json
from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
from fairseq.data import Dictionary
from torch import Tensor

from lev_plugins.cli.main import main
from lev_plugins.pretrained.library import DEBERTA_GRAPHS, gated_arch

DEBERTA_HAS_GRAPHS = (
    find_spec("transformers") is not None and tuple(map(int, version("transformers").split(".")[:2])) >= DEBERTA_GRAPHS
)
TOKENIZER_LINES = [
    "the quick brown fox jumps over the lazy dog .",
    "a café costs 3 €, isn't it? hello world!",
    "she sells sea shells (by the sea shore); 12 of them - or more",
]


def write_config(folder: Path, **options: Any) -> None:
    (folder / "tokenizer_config.json").write_text(json.dumps(options), encoding="utf-8")


def liven(model: Any, factor: float, eos: int) -> Any:
    """Scales random weights until the output depends on the input and sentences end."""
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() == 1:
                parameter.add_(torch.randn_like(parameter) * 0.3)
            else:
                parameter.mul_(factor)
        model.get_input_embeddings().weight[eos] *= 2
    return model


def sentencepieces(prefix: Path, lines: list[str], size: int, **options: object) -> None:
    import sentencepiece

    sentencepiece.SentencePieceTrainer.Train(
        sentence_iterator=iter(lines),
        model_prefix=str(prefix),
        vocab_size=size,
        num_threads=1,
        minloglevel=2,
        **options,
    )


# the library's names of the model and of the tokenizer, the number of extra ids, and the size of the vocabulary
T5S = {
    "t5": ("T5", "T5Tokenizer", 8, 58),
    "t5-1.1": ("T5", "T5Tokenizer", 8, 58),
    "mt5": ("MT5", "T5Tokenizer", 0, 50),
    "umt5": ("UMT5", "T5Tokenizer", 0, 50),
    "byt5": ("T5", "ByT5Tokenizer", 125, 259),
}


def t5(folder: Path, kind: str = "t5", words: int = 0) -> Any:
    """Saves a T5; all kinds but ``t5`` have a separate output matrix and gated feed-forward layers."""
    import transformers

    name, tokenizer, extra_ids, rows = T5S[kind]
    folder.mkdir(parents=True)
    if tokenizer == "T5Tokenizer":
        ids = {"pad_id": 0, "eos_id": 1, "unk_id": 2, "bos_id": -1}
        sentencepieces(folder / "spiece", TOKENIZER_LINES * 20, 50, character_coverage=1.0, **ids)
    write_config(folder, tokenizer_class=tokenizer, extra_ids=extra_ids, unk_token="<unk>")
    torch.manual_seed(1)
    sizes: dict[str, Any] = {"d_model": 16, "d_ff": 24, "d_kv": 8, "num_heads": 2, "num_layers": 2, "dropout_rate": 0.0}
    if kind != "t5":
        sizes |= {"tie_word_embeddings": False, "feed_forward_proj": "gated-gelu"}
    config = getattr(transformers, f"{name}Config")(vocab_size=words or rows, decoder_start_token_id=0, **sizes)
    model = getattr(transformers, f"{name}ForConditionalGeneration")(config)
    if kind != "t5":
        model.lm_head.weight = torch.nn.Parameter(0.5 * torch.randn_like(model.lm_head.weight))
    liven(model, 1.5, eos=1)
    if kind != "t5":
        model.lm_head.weight.data[1] *= 3
    model.save_pretrained(folder)
    return model.eval()


def byte_pairs(special: list[str]) -> Any:
    from tokenizers import ByteLevelBPETokenizer

    tokenizer = ByteLevelBPETokenizer()
    tokenizer.train_from_iterator(TOKENIZER_LINES * 3, vocab_size=330, special_tokens=special, show_progress=False)
    return tokenizer


def bart(folder: Path) -> Any:
    from transformers import BartConfig, BartForConditionalGeneration

    folder.mkdir(parents=True)
    tokenizer = byte_pairs(["<s>", "<pad>", "</s>", "<unk>", "<mask>"])
    tokenizer.save_model(str(folder))
    write_config(folder, tokenizer_class="BartTokenizer")
    torch.manual_seed(1)
    sizes = {"layers": 2, "ffn_dim": 24, "attention_heads": 2}
    sides = {f"{side}_{name}": size for side in ("encoder", "decoder") for name, size in sizes.items()}
    words = tokenizer.get_vocab_size()
    config = BartConfig(vocab_size=words, d_model=16, max_position_embeddings=40, dropout=0.0, **sides)
    model = liven(BartForConditionalGeneration(config), 10, eos=2)
    model.final_logits_bias.normal_()
    model.final_logits_bias[:, 2] += 2
    model.save_pretrained(folder)
    return model.eval()


BERT_SIZES = {
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 24,
    "max_position_embeddings": 66,
}


def bert(folder: Path, head: bool = True) -> Any:
    """Saves a masked language model, or without ``head`` only its encoder."""
    from tokenizers import BertWordPieceTokenizer
    from transformers import BertConfig, BertForMaskedLM, BertModel

    folder.mkdir(parents=True)
    tokenizer = BertWordPieceTokenizer(pieces(), lowercase=True)
    tokenizer.save_model(str(folder))
    write_config(folder, tokenizer_class="BertTokenizer", do_lower_case=True)
    torch.manual_seed(4)
    no_dropout = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    sizes = {**BERT_SIZES, "max_position_embeddings": 64, "vocab_size": tokenizer.get_vocab_size()}
    config = BertConfig(**sizes, **no_dropout)
    model = liven((BertForMaskedLM if head else BertModel)(config), 10, eos=3)
    model.save_pretrained(folder)
    return model.eval()


def pieces() -> dict[str, int]:
    """Returns words and letters (the library's own training breaks ties in a random order)."""
    words = sorted({word for line in TOKENIZER_LINES for word in line.lower().split()})
    letters = sorted(set("".join(words)))
    specials = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    rows = dict.fromkeys([*specials, *letters, *(f"##{letter}" for letter in letters), *words[::2]])
    return {piece: row for row, piece in enumerate(rows)}


DEBERTA = {"relative_attention": True, "position_buckets": 8, "pos_att_type": ["p2c", "c2p"], "type_vocab_size": 0}
DISTILBERT = {"dim": 16, "n_layers": 2, "n_heads": 2, "hidden_dim": 24}
# model_type -> the class of its tokenizer, and settings in addition to ``BERT_SIZES``
ENCODERS: dict[str, tuple[str, dict[str, Any]]] = {
    "roberta": ("RobertaTokenizer", {"type_vocab_size": 1}),
    "xlm-roberta": ("XLMRobertaTokenizer", {"type_vocab_size": 1}),
    "deberta-v2": (
        "DebertaV2Tokenizer",
        {**DEBERTA, "norm_rel_ebd": "layer_norm", "share_att_key": True, "position_biased_input": False},
    ),
    "electra": ("ElectraTokenizer", {"embedding_size": 16}),
    "electra-small": ("ElectraTokenizer", {"embedding_size": 8}),
    "mpnet": ("MPNetTokenizer", {}),
    "distilbert": ("DistilBertTokenizer", DISTILBERT),
    "modernbert": (
        "PreTrainedTokenizerFast",
        {"num_hidden_layers": 3, "global_attn_every_n_layers": 2, "local_attention": 8},
    ),
    "albert": ("AlbertTokenizer", {"embedding_size": 8}),
}


def encoder(name: str, folder: Path, tokenizer_class: str = "", more_rows: int = 0) -> Any:
    """Saves an encoder with its output layer and a tokenizer of its family; ``more_rows`` have no token."""
    from transformers import AutoConfig, AutoModelForMaskedLM

    kind, settings = ENCODERS[name]
    folder.mkdir(parents=True)
    tokenizer = trained_tokenizer(tokenizer_class or kind)
    tokenizer.save_pretrained(folder)
    size = {"vocab_size": len(tokenizer) + more_rows}
    names = ("pad", "bos", "eos", "cls", "sep", "mask")
    ids = {f"{name}_token_id": getattr(tokenizer, f"{name}_token_id", None) for name in names}
    torch.manual_seed(4)
    config = AutoConfig.for_model(name.removesuffix("-small"), **{**BERT_SIZES, **settings, **ids, **size})
    end = tokenizer("a")["input_ids"][-1]
    model = liven(AutoModelForMaskedLM.from_config(config), 10, end)
    model.get_output_embeddings().bias.data[end] += 2
    model.save_pretrained(folder)
    return model.eval()


SPECIAL_TOKENS = {
    "RobertaTokenizer": ["<s>", "<pad>", "</s>", "<unk>", "<mask>"],
    "PreTrainedTokenizerFast": ["[CLS]", "[PAD]", "[SEP]", "[UNK]", "[MASK]"],
    "XLMRobertaTokenizer": ["<s>", "<pad>", "</s>", "<unk>"],
    "DebertaV2Tokenizer": ["[PAD]", "[CLS]", "[SEP]", "[UNK]"],
    "AlbertTokenizer": ["<pad>", "<unk>", "[CLS]", "[SEP]"],
}


def trained_tokenizer(kind: str) -> Any:
    import tokenizers
    import transformers

    if kind == "RobertaTokenizer":
        entries = json.loads(byte_pairs(SPECIAL_TOKENS[kind]).to_str())["model"]
        return transformers.RobertaTokenizer(vocab=entries["vocab"], merges=[*map(tuple, entries["merges"])])
    if kind == "PreTrainedTokenizerFast":
        library = byte_pairs(SPECIAL_TOKENS[kind])
        ends = [(name, library.token_to_id(name)) for name in ("[CLS]", "[SEP]")]
        library._tokenizer.post_processor = tokenizers.processors.TemplateProcessing("[CLS] $A [SEP]", None, ends)
        names = {f"{name[1:-1].lower()}_token": name for name in SPECIAL_TOKENS[kind]}
        return transformers.PreTrainedTokenizerFast(tokenizer_object=library._tokenizer, **names)
    if kind in SPECIAL_TOKENS:
        library = tokenizers.SentencePieceUnigramTokenizer()
        library.train_from_iterator(TOKENIZER_LINES * 20, vocab_size=60, show_progress=False)
        vocabulary = json.loads(library.to_str())["model"]["vocab"]
        rows = [(piece, score) for piece, score in vocabulary if piece not in SPECIAL_TOKENS[kind]]
        return getattr(transformers, kind)(vocab=[*((name, 0.0) for name in SPECIAL_TOKENS[kind]), *rows])
    rows = pieces()
    if kind == "MPNetTokenizer":
        rest = [name for name in rows if name not in ("[PAD]", "[CLS]", "[SEP]", "[MASK]")]
        rows = {name: row for row, name in enumerate(["<s>", "<pad>", "</s>", *rest, "<mask>"])}
    return getattr(transformers, kind)(vocab=rows)


MAKERS: dict[str, Callable[[Path], Any]] = {
    **{kind: partial(t5, kind=kind) for kind in T5S if kind != "umt5"},
    "bart": bart,
    "bert": bert,
}


def make(kind: str, folder: Path) -> Any:
    """Saves a model of any kind with its tokenizer in the folder, and returns it."""
    if kind in ENCODERS:
        return encoder(kind, folder)
    return t5(folder, kind) if kind in T5S else MAKERS[kind](folder)


def change_config(folder: Path, **settings: object) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text("utf-8")), **settings}), "utf-8")


def imported(source: Path, out: Path) -> Path:
    assert main(["import-pretrained", str(source), str(out)]) == 0
    return out


def made_and_imported(kind: str, folder: Path) -> Path:
    """Saves a model in ``theirs``, imports it into ``ours``, and returns ``ours``."""
    make(kind, folder / "theirs")
    return imported(folder / "theirs", folder / "ours")


def ids_of_symbols(folder: Path) -> tuple[Tensor, Tensor]:
    """Returns fairseq's symbol of each id of the library, and the library's id (or 0) of each symbol."""
    symbols = (folder / "symbols.txt").read_text(encoding="utf-8").split("\n")[:-1]
    dictionary, ids = Dictionary.load(str(folder / "dict.txt")), {symbol: i for i, symbol in enumerate(symbols)}
    symbol_of_id = torch.tensor([dictionary.index(symbol) for symbol in symbols])
    return symbol_of_id, torch.tensor([ids.get(symbol, 0) for symbol in dictionary.symbols])


def build(folder: Path, arch: str = "", dictionary: Dictionary | None = None, **options: Any) -> Any:
    """Builds the model of an imported folder, by default without gates."""
    from fairseq.models import MODEL_DATACLASS_REGISTRY, MODEL_REGISTRY

    kind = json.loads((folder / "config.json").read_text(encoding="utf-8"))["model_type"]
    name = arch or gated_arch(kind) or "gated_bert"
    defaults = {"gates": "", "max_source_positions": 1024, "max_target_positions": 1024}
    config = MODEL_DATACLASS_REGISTRY[name](**{"backbone": str(folder), **defaults, **options})
    dictionary = dictionary or Dictionary.load(str(folder / "dict.txt"))
    task = SimpleNamespace(source_dictionary=dictionary, target_dictionary=dictionary)
    torch.manual_seed(1)
    return MODEL_REGISTRY[name].build_model(config, task).eval()
