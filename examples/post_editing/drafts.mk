# Texts, drafts and the data of the trainings; included by the Makefile.
# ---- texts and drafts: without drafts, the first half of train is `weak`, the second `train` -------------------------
$(OUT)/texts/done:
	python $(HERE)/texts.py --text $(TEXT) --test $(TEST) --output $(@D) $(if $(DRAFT),,--halve) \
	    --suffixes $(SOURCE) $(TARGET) $(DRAFT)

first_pieces := $(if $(TRANSLATION),--sentencepiece-model $(TRANSLATION)/pieces/pieces.$(SOURCE)-$(TARGET).model \
    --srcdict $(TRANSLATION)/binarise/data/dict.$(SOURCE).txt,--learn-sentencepiece $(VOCAB))

$(OUT)/weak_data/done: $(OUT)/texts/done
	lev-plugins prepare $(languages) --train-prefix $(<D)/weak --valid-prefix $(<D)/valid \
	    --test-prefix $(<D)/train $(<D)/valid $(<D)/test $(first_pieces) --joined-dictionary --dest $(@D)/data

$(OUT)/weak/begun: $(OUT)/weak_data/done
$(OUT)/weak/done: $(OUT)/weak/begun # one LSTM layer
	$(train) $(OUT)/weak_data/data $(training) --lr 0.002 --task translation --arch lstm $(foreach side,encoder decoder, \
	    --$(side)-layers 1 --$(side)-embed-dim 256 --$(side)-hidden-size 256) --dropout 0.3 \
	    --decoder-out-embed-dim 256 --share-all-embeddings --criterion label_smoothed_cross_entropy \
	    --lr-scheduler inverse_sqrt --warmup-updates 200 --max-epoch $(WEAK_EPOCHS) --no-epoch-checkpoints

$(OUT)/drafts/begun: $(if $(filter words,$(WEAK)),$(OUT)/texts/done,$(OUT)/weak/done)
$(OUT)/drafts/done: $(OUT)/drafts/begun # of the other half, of valid and of test
ifeq ($(WEAK),words)
	python $(HERE)/word_for_word.py --train $(OUT)/texts/weak.$(SOURCE) $(OUT)/texts/weak.$(TARGET) \
	    $(foreach split,train valid test,$(OUT)/texts/$(split).$(SOURCE)) >$(@D)/all.draft
else
	lev-plugins distill $(OUT)/weak_data/data --path $(OUT)/weak/checkpoint_best.pt --split test --beam 1 --text $(@D)/all.draft \
	    --post-process sentencepiece --max-tokens 8000 $(device)
endif
	python $(HERE)/texts.py --text $(OUT)/texts --suffixes $(SOURCE) $(TARGET) --drafts $(@D)/all.draft --output $(@D)

piece_model := $(if $(TRANSLATION),$(TRANSLATION)/pieces/pieces.$(SOURCE)-$(TARGET).model,$(OUT)/$(if \
    $(DRAFT),triples,weak_data)/data/sentencepiece.model)
drafted := $(OUT)/$(if $(DRAFT),texts,drafts)
draft := $(or $(DRAFT),draft)

$(OUT)/triples/done: $(drafted)/done $(if $(filter words,$(WEAK)),$(if $(DRAFT),,$(OUT)/weak_data/done))
	lev-plugins prepare $(languages) -d $(draft) --train-prefix $(<D)/train $(SYNTHETIC:%=--extra-train-prefix %) --valid-prefix $(<D)/valid \
	    --test-prefix $(<D)/test --joined-dictionary $(if $(DRAFT),$(first_pieces),--sentencepiece-model \
	    $(OUT)/weak_data/data/sentencepiece.model --srcdict $(OUT)/weak_data/data/dict.$(SOURCE).txt) --dest $(@D)/data

$(OUT)/pairs/done: $(OUT)/triples/done
	lev-plugins prepare $(languages) --train-prefix $(PARALLEL) --valid-prefix $(drafted)/valid --joined-dictionary \
	    --sentencepiece-model $(piece_model) --srcdict $(OUT)/triples/data/dict.$(SOURCE).txt --dest $(@D)/data
