# A levt with spelling-aware words, small enough for two cores: the same editor in every example that has one.
# Included after common.mk, with editor_updates, editor_tokens, editor_lr and editor_dropout set.
#
# The noisy text is the draft as well, so a text has three files: SPLIT.SOURCE, SPLIT.draft and SPLIT.TARGET.

editor_fifth := $(shell echo $$(($(editor_updates) < 5 ? 1 : $(editor_updates) / 5)))
editor_twentieth := $(shell echo $$(($(editor_updates) < 20 ? 1 : $(editor_updates) / 20)))

prepare_editor := lev-plugins prepare -d draft --bpe words --joined-dictionary
editor_sizes := --share-all-embeddings --encoder-layers 2 --decoder-layers 1 --dropout $(editor_dropout) \
    $(foreach side,encoder decoder,--$(side)-embed-dim 160 --$(side)-ffn-embed-dim 320 --$(side)-attention-heads 4 \
    --$(side)-normalize-before)
editor_schedule := --optimizer adam --adam-betas '(0.9,0.98)' --clip-norm 1 --max-tokens $(editor_tokens) --lr $(editor_lr) \
    --lr-scheduler polynomial_decay --warmup-updates $(editor_twentieth) --total-num-update $(editor_updates) \
    --max-update $(editor_updates) --validate-interval-updates $(editor_fifth) --no-epoch-checkpoints --no-progress-bar \
    --log-interval 50
editor_training := --task text_editing --draft-lang draft --rollin-alpha 1 --rollin-beta 1 --bpe words --spelling \
    --arch levt_tiny --max-insertions 7 $(editor_sizes) --criterion dual_policy --label-smoothing 0 \
    --placeholder-label-smoothing 0 $(editor_schedule)
editor_search := --iter-decode-max-iter 0

# $(call make_editor,TRAINED,DATA,FOLDER,NOISY,CLEAN): a model folder; NOISY and CLEAN, the validation text, decide how sure
# it must be of an edit, by editor_metric
editor_export = lev-plugins export $(1)/checkpoint_last.pt $(3) --overwrite --bpe words $(editor_search) --data $(2) \
    --language en
define make_editor
$(editor_export)
dial=$$(python $(EXAMPLES)/demo/dial.py $(3) $(4) $(5) $(editor_metric:%=--metric %))
$(editor_export) --min-confidence "$$dial"
endef
