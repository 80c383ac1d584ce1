"""The autoregressive post-editor that is the LevT paper's baseline (section 4.2 and appendix C.2).

fairseq's Transformer, whose encoder reads source and draft as one row. Positions restart at the draft, and a
language embedding is added to each token. With real ids, <s> = 0 and </s> = 2:

    source   <s> 11 12 </s>     draft   <s> 21 </s>
    row          11 12  2                   21  2
    position      1  2  3                    1  2
    language      0  0  0                    1  1

fairseq's own `transformer` reads sources without <s>, so the row has none either. A draft of ``<s> </s>`` counts as no
draft: the row is then the source only. Shapes: B batch, S source length, N draft length, T target length, C channels,
V vocabulary. Padding may be on either side.
"""

from argparse import Namespace
from dataclasses import fields

import torch
from fairseq.data import Dictionary
from fairseq.models import FairseqEncoderDecoderModel, register_model
from fairseq.models.transformer import TransformerConfig, TransformerDecoderBase, TransformerEncoderBase
from fairseq.tasks import FairseqTask
from torch import Tensor, nn

from lev_plugins.edits.actions import deletable, require_draft_fits
from lev_plugins.edits.batch_words import EditingDictionary
from lev_plugins.nn.transformer import token_embedding
from lev_plugins.training.archives import LoadedFromFolder
from lev_plugins.training.encoder_decoder import EncoderDecoderConfig, check_sizes, require_equal_widths, source_table
from lev_plugins.training.requirements import require_task
from lev_plugins.utils.errors import require

SOURCE, DRAFT = 0, 1  # the languages


def readable(draft: Tensor, dictionary: EditingDictionary) -> Tensor:
    """Returns drafts without <s> and with <unk> for unknown words; one without words becomes padding: (B, N) -> (B, N)

    >>> readable(torch.tensor([[0, 5, 2], [0, 2, 1]]), EditingDictionary())
    tensor([[1, 3, 2],
            [1, 1, 1]])
    """
    bos, eos, pad = dictionary.bos(), dictionary.eos(), dictionary.pad()
    words = deletable(draft, bos, eos, pad)
    return dictionary.unknown_to_unk(draft).masked_fill(draft.eq(bos) | ~words.any(1, keepdim=True), pad)


class PostEditEncoder(TransformerEncoderBase):
    """fairseq's encoder, with the source's words in one table and the draft's words in the target's table."""

    def __init__(
        self,
        cfg: TransformerConfig,
        source: Dictionary,
        target: EditingDictionary,
        source_words: nn.Embedding,
        words: nn.Embedding,
    ) -> None:
        super().__init__(cfg, source, source_words)
        self.target, self.draft_words = target, words
        self.languages = nn.Embedding(2, source_words.embedding_dim)
        nn.init.normal_(self.languages.weight, std=source_words.embedding_dim**-0.5)

    def forward(
        self,
        src_tokens: Tensor,  # (B, S)
        src_lengths: Tensor | None = None,  # (B,); unused: part of fairseq's interface
        draft: Tensor | None = None,  # (B, N)
        marks: Tensor | None = None,  # (B, N) see lev_plugins.text.mark_bits
    ) -> dict[str, list[Tensor]]:
        """What fairseq's decoder reads: ``encoder_out`` (S + N, B, C), ``encoder_padding_mask`` (B, S + N), ..."""
        row = src_tokens.masked_fill(src_tokens.eq(self.dictionary.bos()), self.padding_idx)
        x = self.embed(row, self.embed_tokens, SOURCE)
        if draft is not None:
            require(
                marks is None or not bool(marks.any()),
                "a post_edit_transformer rewrites the whole text and ignores marks: remove them from the draft",
            )
            require_draft_fits(draft, self.padding_idx, self.max_positions(), "source")
            draft = readable(draft, self.target)
            x = torch.cat([x, self.embed(draft, self.draft_words, DRAFT)], 1)  # (B, S + N, C)
            row = torch.cat([row, draft], 1)
        return self.forward_scriptable(row, token_embeddings=x)

    def embed(self, tokens: Tensor, table: nn.Embedding, language: int) -> Tensor:
        """Returns the embeddings of one side, whose positions begin at 1: (B, S) -> (B, S, C)."""
        return super().forward_embedding(tokens, table(tokens) + self.languages.weight[language])[0]

    def forward_embedding(self, src_tokens: Tensor, token_embedding: Tensor) -> tuple[Tensor, Tensor]:
        """Returns the embeddings of the row, which ``embed`` has computed, to fairseq's encoder."""
        return token_embedding, token_embedding


@register_model("post_edit_transformer", dataclass=EncoderDecoderConfig)
class PostEditTransformer(LoadedFromFolder, FairseqEncoderDecoderModel):
    @classmethod
    def build_model(cls, cfg: EncoderDecoderConfig, task: FairseqTask) -> "PostEditTransformer":
        require_task(task, "text_editing", "post_edit_transformer")
        check_sizes(cfg)
        require_equal_widths(cfg, "--arch post_edit_transformer")  # both sides read the target's table
        source, target = task.source_dictionary, task.target_dictionary
        words = token_embedding(len(target), cfg.decoder_embed_dim, target.pad())
        source_words = source_table(cfg, task, words)
        sizes = {field.name: getattr(cfg, field.name) for field in fields(EncoderDecoderConfig)}
        sizes |= {"decoder_input_dim": cfg.decoder_embed_dim, "decoder_output_dim": cfg.decoder_embed_dim}
        sizes["share_decoder_input_output_embed"] |= cfg.share_all_embeddings
        config = TransformerConfig.from_namespace(Namespace(**sizes))
        encoder = PostEditEncoder(config, source, target, source_words, words)
        return cls(encoder, TransformerDecoderBase(config, target, words))

    def forward(
        self,
        src_tokens: Tensor,  # (B, S)
        src_lengths: Tensor,  # (B,)
        prev_output_tokens: Tensor,  # (B, T) </s>, then the target without its own </s>
        draft: Tensor | None = None,  # (B, N)
    ) -> tuple[Tensor, dict[str, list[Tensor | None]]]:
        """Returns logits (B, T, V), by teacher forcing, and the extra output of fairseq's decoder."""
        return self.decoder(prev_output_tokens, encoder_out=self.encoder(src_tokens, src_lengths, draft))
