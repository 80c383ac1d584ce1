"""The flags of a LevT, and the table of words that follows from them."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Optional

from fairseq.data import Dictionary
from fairseq.dataclass import ChoiceEnum
from fairseq.tasks import FairseqTask
from torch import nn

from lev_plugins.edits.candidates import WordIndex, words_and_counts
from lev_plugins.edits.embedding import IntendedWordEmbedding
from lev_plugins.edits.word_pieces import WordPieces, WordTokenizer
from lev_plugins.levt.spelling import SpelledWords
from lev_plugins.levt.words import EmbeddedWords
from lev_plugins.nn.linear import TiedLinear, head_projection
from lev_plugins.nn.scaled_adam import check_learning_rate
from lev_plugins.nn.transformer import TextEmbedding, token_embedding
from lev_plugins.pretrained.word_reader import WordReader
from lev_plugins.text.pretrained import DICTIONARY, MOVED_HINT, imported_folder
from lev_plugins.training.encoder_decoder import EncoderDecoderConfig, both_sides, check_sizes
from lev_plugins.training.requirements import BUCKETS
from lev_plugins.utils.errors import require
from lev_plugins.utils.ranges import flag

# --share-weights: which stack of decoder blocks each policy reads. The comments have the names of Table 2a. The
# embeddings and the last LayerNorm are shared in every case, as in fairseq.
SHARING = {
    "all": {"deletion": "shared", "placeholder": "shared", "token": "shared"},  # "all"
    "plh-tok": {"deletion": "deletion", "placeholder": "shared", "token": "shared"},  # "plh, ins"
    "tok-del": {"deletion": "shared", "placeholder": "placeholder", "token": "shared"},  # "ins, del"
    "none": {"deletion": "deletion", "placeholder": "placeholder", "token": "token"},  # "none"
}


@dataclass
class LevTConfig(EncoderDecoderConfig):
    decoder_layers: int = flag(6, "decoder blocks; the token policy reads the last")
    deletion_layers: int = flag(0, "early exit: the deletion policy reads this block (0: the last)")
    placeholder_layers: int = flag(0, "early exit: the placeholder policy reads this block (0: the last)")
    share_weights: ChoiceEnum(list(SHARING)) = flag(  # type: ignore[valid-type]
        "all", "which policies share decoder blocks (Table 2a of the paper)"
    )
    max_insertions: int = flag(255, "K_max: maximum number of placeholders per slot and iteration")
    placeholder: ChoiceEnum(["plh", "unk"]) = flag(  # type: ignore[valid-type]
        "plh", "placeholder symbol: a separate one, or <unk> as in fairseq's LevT"
    )
    spelling: bool = flag(
        False,
        "compute the vectors of words from their letters, also of words that the dictionary lacks, so that a "
        "misspelt word is close to the word that was meant; for data split into whole words, such as by --bpe words",
    )
    spelling_buckets: int = flag(BUCKETS, "with --spelling: size of the hash table for letter n-grams")
    backbone: Optional[str] = flag(
        None,
        "with --spelling: folder made by lev-plugins import-pretrained, of any type, whose encoder reads the source "
        "words as well; also needed to decode with a checkpoint",
    )
    freeze_backbone: bool = flag(False, "do not train the weights of --backbone")
    backbone_lr_factor: float = flag(
        1.0,
        "learning rate of the backbone, as a multiple of --lr, which applies to all other weights; requires "
        "--optimizer scaled_adam",
    )
    apply_bert_init: bool = flag(False, "normal(0, 0.02) initialisation, as BERT's")


def check_levt_config(cfg: LevTConfig) -> None:
    check_sizes(cfg)
    require(cfg.spelling or cfg.backbone is None, "--backbone reads words: add --spelling")
    if cfg.spelling:
        require(cfg.share_all_embeddings, "--spelling is for both sides and the output: add --share-all-embeddings")
        require(
            str(cfg.placeholder) == "plh",
            "--spelling reads <unk> as an unknown word, so --placeholder must not be unk: leave it out",
        )
    if cfg.backbone is None:
        require(not cfg.freeze_backbone, "--freeze-backbone requires --backbone")
        require(cfg.backbone_lr_factor == 1, "--backbone-lr-factor requires --backbone")
    check_learning_rate(cfg)
    for head, depth in (("deletion", cfg.deletion_layers), ("placeholder", cfg.placeholder_layers)):
        require(
            0 <= depth <= cfg.decoder_layers,
            f"--{head}-layers must be between 0 (the last block) and --decoder-layers ({cfg.decoder_layers}), "
            f"but is {depth}",
        )


def build_vectors(
    cfg: LevTConfig, task: FairseqTask, rows: int
) -> tuple[nn.Embedding | IntendedWordEmbedding, WordReader | None]:
    """Returns the vectors of the target's words, and the encoder of --backbone, still without its weights.

    Args:
        cfg: the flags
        task: has the dictionaries
        rows: the number of vectors, V or V + 1 with a placeholder of its own; unused with --spelling
    """
    dictionary, dim = task.target_dictionary, cfg.decoder_embed_dim
    if not cfg.spelling:
        return token_embedding(rows, dim, dictionary.pad()), None
    if cfg.backbone is None:
        index = WordIndex.of_dictionary(dictionary, cfg.spelling_buckets, lexicon=task.lexicon)
        return IntendedWordEmbedding(dictionary, dim, index), None
    folder = imported_folder(cfg.backbone, "--backbone", MOVED_HINT)
    symbols = Dictionary.load(str(folder / DICTIONARY))
    special = {dictionary.eos(): symbols.eos(), dictionary.unk(): symbols.unk()}
    pieces = WordPieces.of_words(WordTokenizer(folder, symbols), words_and_counts(dictionary)[0], special)
    index = WordIndex.of_dictionary(dictionary, cfg.spelling_buckets, pieces, task.lexicon)
    embedding = IntendedWordEmbedding(dictionary, dim, index)
    factor = cfg.backbone_lr_factor
    reader = WordReader(Path(folder), symbols, cfg.encoder_embed_dim, cfg.dropout, cfg.freeze_backbone, factor)
    return embedding, reader


def build_words(cfg: LevTConfig, embedding: TextEmbedding, vocabulary: int) -> EmbeddedWords | SpelledWords:
    """Returns the table of words.

    Args:
        cfg: the flags
        embedding: the decoder's
        vocabulary: V, the number of output classes
    """
    if isinstance(embedding.tokens, IntendedWordEmbedding):
        return SpelledWords(embedding.tokens, cfg.max_insertions, cfg.backbone is not None)
    tied = cfg.share_all_embeddings or cfg.share_decoder_input_output_embed
    dim = cfg.decoder_embed_dim
    return EmbeddedWords(
        TiedLinear(embedding.table, vocabulary) if tied else head_projection(dim, vocabulary), vocabulary
    )


# the defaults that each preset changes in `levt` (sizes of the paper's base model: 512 wide, 6 + 6 blocks)
LEVT_PRESETS: Mapping[str, Mapping[str, object]] = {
    "levt_tiny": both_sides(embed_dim=64, ffn_embed_dim=128, layers=2, attention_heads=2),
    "levt_iwslt": both_sides(embed_dim=512, ffn_embed_dim=1024, layers=6, attention_heads=4),
    "levt_big": both_sides(embed_dim=1024, ffn_embed_dim=4096, layers=6, attention_heads=16),
    # fast, because the decoder, which runs three times per iteration, is shallow; the encoder runs once per sentence
    "levt_fast": {"encoder_layers": 9, "decoder_layers": 3},
    # small editors of one's own language, with --spelling; they learn from drafts alone
    "levt_editor": {
        **both_sides(embed_dim=160, ffn_embed_dim=320, layers=2, attention_heads=4, normalize_before=True),
        **{"decoder_layers": 1, "share_all_embeddings": True, "max_insertions": 7, "dropout": 0.0},
        **{"bpe": "words", "rollin_alpha": 1.0, "rollin_beta": 1.0},
    },
}
