"""What --spelling and --backbone add to a LevT: vectors of words from their letters, and alignment with the source.

With --spelling, the decoder looks up words by their letters, also those that the dictionary lacks; it sees which words
have been deleted after each token, and scores the words for a placeholder by how much they look like the word that it
replaces. With --backbone, the encoder adds the states of a pre-trained encoder to its input, and the decoder adds to
each token the state of the source token that is aligned with it.

Shapes: B batch, S source length, T target length, C channels (see ``lev_plugins.nn``).
"""

from dataclasses import dataclass, replace
from typing import Any, cast

import torch
import torch.nn.functional as F
from fairseq.data import Dictionary
from fairseq.tasks import FairseqTask
from torch import Tensor, nn

from lev_plugins.edits.actions import RemovedTokens, source_positions
from lev_plugins.edits.batch_words import BatchWords, EditingStates
from lev_plugins.edits.candidates import WordIndex, words_and_counts
from lev_plugins.edits.embedding import WHOLE_VOCABULARY, IntendedWordEmbedding, VocabularySample, WordVectors
from lev_plugins.edits.word_pieces import WordPieces, WordTokenizer
from lev_plugins.edits.word_scorer import (
    FORMER_NAMES,
    MISSPELT_WORD_WEIGHTS,
    CandidateTensors,
    WordScorer,
    split_weights,
    stored_weights,
)
from lev_plugins.levt.stacks import EncodedSource, LevTDecoder, LookUp, StepInputs
from lev_plugins.nn.linear import Linear
from lev_plugins.nn.transformer import Padding, TextEmbedding, spread, token_embedding
from lev_plugins.pretrained.weights import backbone_sizes
from lev_plugins.pretrained.word_encoder import BackboneWords
from lev_plugins.text.pretrained import DICTIONARY, MOVED_HINT, imported_folder
from lev_plugins.training.encoder_decoder import SIDES, layer_shape
from lev_plugins.utils.errors import require

# Maximum number of rows for the number of neighbouring words that were deleted. Row 0, for none, is zeros. The last
# row is also for all larger numbers: for 15 and more, or with --max-insertions below 15, for that number and more.
# That flag does not limit deletions, but checkpoints have the number of rows that follows from it.
REMOVED_COUNTS = 16


def build_embedding(cfg: Any, task: FairseqTask) -> tuple[IntendedWordEmbedding, BackboneWords | None]:
    """Returns the table of words, and the encoder of --backbone, still without its weights."""
    require(cfg.share_all_embeddings, "--spelling is for both sides and the output: add --share-all-embeddings")
    require(
        str(cfg.placeholder) == "plh",
        "--spelling reads <unk> as an unknown word, so --placeholder must not be unk: leave it out",
    )
    dictionary, dim = task.target_dictionary, cfg.decoder_embed_dim
    if cfg.backbone is None:
        index = WordIndex.of_dictionary(dictionary, cfg.spelling_buckets)
        return IntendedWordEmbedding(dictionary, dim, index), None
    folder = imported_folder(cfg.backbone, "--backbone", MOVED_HINT)
    sizes, symbols = backbone_sizes(folder), Dictionary.load(str(folder / DICTIONARY))
    special = {dictionary.eos(): symbols.eos(), dictionary.unk(): symbols.unk()}
    pieces = WordPieces.of_words(WordTokenizer(folder, symbols), words_and_counts(dictionary)[0], special)
    index = WordIndex.of_dictionary(dictionary, cfg.spelling_buckets, pieces)
    embedding = IntendedWordEmbedding(dictionary, dim, index)
    return embedding, BackboneWords(sizes, symbols, cfg.encoder_embed_dim, cfg.dropout, cfg.freeze_backbone)


@dataclass(frozen=True)
class TokenLookUp:
    """Looks up the vectors of a batch's tokens.

    A word that occurs once in the training text has to be read as an unknown word there, or the model would never learn
    from unknown words: so in training, the occurrence in the sentence's own target does not count.
    """

    embedding: IntendedWordEmbedding
    vectors: WordVectors  # of all words that the batch may contain
    target: Tensor | None = None  # (B, T) in training

    def __call__(self, tokens: Tensor) -> Tensor:
        held_out = None  # (B, T) True = the token occurs in the target
        if self.target is not None:
            held_out = tokens[:, :, None].eq(self.target[:, None, :]).any(2)
        return self.embedding.look_up(tokens, self.vectors, held_out)


@dataclass(frozen=True)
class SpelledSource(EncodedSource):
    look_up: TokenLookUp
    # (B, S + 1, C) with --backbone: the projected state of each source token, and zeros for tokens without an alignment
    aligned_states: Tensor | None = None

    def select(self, rows: Tensor) -> "SpelledSource":
        """Returns the sources at ``rows`` (n,). The look-up is that of the batch, as only training has targets."""
        states = None if self.aligned_states is None else self.aligned_states[rows]
        return replace(cast(SpelledSource, super().select(rows)), aligned_states=states)


class SpellingDecoder(LevTDecoder):
    """A decoder that reads the letters of words and of the words that they replace."""

    def __init__(self, embedding: TextEmbedding, cfg: Any, vocabulary: int) -> None:
        """The arguments are those of ``LevTDecoder``; ``embedding`` has an ``IntendedWordEmbedding`` as its table."""
        super().__init__(embedding, cfg, vocabulary)
        assert isinstance(embedding.tokens, IntendedWordEmbedding)
        words, dim, pretrained = embedding.tokens, layer_shape(cfg, "decoder").dim, cfg.backbone is not None
        self.word_index, self.reads_alignment = words.index, pretrained
        self.aligned_projection = Linear(cfg.encoder_embed_dim, dim, bias=False) if pretrained else None
        self.word_scorer = WordScorer(words.index, words.shapes, words.padding_idx, dim, pretrained)
        del self.token_head  # the ``word_scorer`` takes its place; tied to the table, it has no weights of its own
        self.removed_projection = Linear(dim, dim, bias=False)
        nn.init.normal_(self.removed_projection.weight, std=dim**-0.5)
        rows = min(cfg.max_insertions + 1, REMOVED_COUNTS)
        self.removed_counts = token_embedding(rows, dim, 0)

    @property
    def word_embedding(self) -> IntendedWordEmbedding:
        return cast(IntendedWordEmbedding, self.embedding.tokens)

    def token_look_up(
        self, words: BatchWords | None, target: Tensor | None = None, sample: VocabularySample = WHOLE_VOCABULARY
    ) -> TokenLookUp:
        return TokenLookUp(self.word_embedding, self.word_embedding.vectors(words, sample), target)

    def remember(self, states: Tensor, padding: Padding, look_up: LookUp | None = None) -> SpelledSource:
        assert isinstance(look_up, TokenLookUp)
        source, aligned = super().remember(states, padding), None
        if self.aligned_projection is not None:
            aligned = F.pad(spread(self.aligned_projection(states), padding.real), (0, 0, 0, 1))  # the last row is 0
        return SpelledSource(source.keys_values, source.mask, look_up, aligned)

    def source_positions(self, tokens: Tensor, src_tokens: Tensor) -> Tensor | None:
        return None if self.aligned_projection is None else source_positions(tokens, src_tokens, self.embedding.pad)

    def embed(
        self,
        tokens: Tensor,
        source: EncodedSource,
        removed: RemovedTokens | None,
        alignment: Tensor | None,
        padded: bool,
    ) -> Tensor:
        assert isinstance(source, SpelledSource)
        token_look_up = source.look_up

        def look_up(tokens: Tensor) -> Tensor:
            if removed is None:
                return token_look_up(tokens)
            counts = self.removed_counts(removed.counts.clamp(max=self.removed_counts.num_embeddings - 1))
            spelling = token_look_up.vectors.spelling_of(removed.first)
            return token_look_up(tokens) + self.removed_projection(spelling) + counts

        x = self.embedding(tokens, look_up=look_up, padded=padded)
        if source.aligned_states is not None:
            assert alignment is not None
            x = x + source.aligned_states.gather(1, alignment[:, :, None].expand(-1, -1, x.size(2)))
        return x

    def token_logits(
        self,
        hidden: list[Tensor],
        index: Tensor,
        source: EncodedSource | None = None,
        replaced: RemovedTokens | None = None,
        candidates: CandidateTensors | None = None,
    ) -> Tensor:
        assert isinstance(source, SpelledSource) and replaced is not None and candidates is not None
        h, vectors = self.placeholder_features(hidden, index), source.look_up.vectors
        directions = self.word_embedding.directions(vectors)
        return self.word_scorer(h, replaced.first.flatten()[index], vectors, directions, candidates)

    def candidates(self, host_ids: list[int], replaced: Tensor, source: EncodedSource) -> CandidateTensors:
        assert isinstance(source, SpelledSource)
        return self.word_scorer.candidates(host_ids, replaced, source.look_up.vectors.words)

    def can_sum_loss(self, hidden: list[Tensor]) -> bool:
        return False

    def step_inputs(
        self,
        src_tokens: Tensor,
        states: EditingStates,
        draft: Tensor | None,
        words: BatchWords | None,
        may_sample: bool,
    ) -> StepInputs:
        table = self.word_embedding
        table.prepare_training()
        assert words is not None, "a dataset for models that spell puts the words into every batch"
        words, candidates, sample = BatchWords(*words), CandidateTensors(*states.candidates), WHOLE_VOCABULARY
        if may_sample:
            texts = (src_tokens, states.target, src_tokens if draft is None else draft)
            sample = table.sample(torch.cat([text.flatten() for text in texts]), words, candidates.ids)
        removed = RemovedTokens(states.removed, states.removed_counts)
        replaced = removed_per_placeholder(states.replaced, self.embedding.pad)
        return StepInputs(draft, words, removed, replaced, candidates, sample)


def removed_per_placeholder(replaced: Tensor, pad: int) -> RemovedTokens:
    """Returns the words ``replaced`` (B, T) as deleted words: at most one for each placeholder.

    >>> removed_per_placeholder(torch.tensor([[1, 12]]), pad=1)
    RemovedTokens(first=tensor([[ 1, 12]]), counts=tensor([[0, 1]]))
    """
    return RemovedTokens(replaced, replaced.ne(pad).long())


def upgrade_spelling_weights(state_dict: dict[str, Tensor], backbone: BackboneWords | None) -> None:
    """Give the weights of an older checkpoint their present names, and add those that it lacks.

    In the oldest ones, the weights of the ``word_scorer`` belong to the table of words, and the weights of its features
    are one vector. In later ones, the scorer is called ``respelling``. A checkpoint with a backbone may lack what was
    added later: a projection of all blocks of the backbone, not only of the last, and the weights for known words.
    """
    names = {f"{side}.embedding.tokens.torn.": f"{side}.embedding.tokens.joined." for side in SIDES}
    names |= {"decoder.from_beside.": "decoder.aligned_projection.", "decoder.given_counts.": "decoder.removed_counts."}
    names |= {"decoder.from_given.": "decoder.removed_projection."}
    for weight in ("query.weight", "query.bias", "bias", "weights"):
        names |= {f"{side}.embedding.tokens.{weight}": f"decoder.word_scorer.{weight}" for side in SIDES}
    names |= {
        f"decoder.respelling.{former}": f"decoder.word_scorer.{present}" for former, present in FORMER_NAMES.items()
    }
    # the first prefix that matches is replaced, so this one, for all other weights of the scorer, must be the last
    names["decoder.respelling."] = "decoder.word_scorer."
    for name in list(state_dict):
        for former, present in names.items():
            if name.startswith(former):
                state_dict[present + name.removeprefix(former)] = state_dict.pop(name)
                break
    together = state_dict.pop("decoder.word_scorer.weights", None)
    if together is not None:
        state_dict |= {f"decoder.word_scorer.{name}": value for name, value in split_weights(together).items()}
    if backbone is not None:
        project = "encoder.backbone.project.weight"
        if project in state_dict:
            state_dict[project] = backbone.upgrade_projection(state_dict[project])
        # without weights of their own, known words were scored as misspelt ones
        for name, value in stored_weights(MISSPELT_WORD_WEIGHTS).items():
            state_dict.setdefault(f"decoder.word_scorer.{name}", value)
