# Models with spelling-aware words: a levt, and a gated Transformer with mask, copy and generate; included by the
# Makefile. To a levt, the noisy text is the draft as well.
# Noise is made while training: one copy of clean text will do. Pairs lose their gaps; a list says what else is a word.
$(noises:%=$(OUT)/words_%/done): $$(noisy)/done
	mkdir -p $(words)
	cp $(<D)/*.src $(<D)/*.tgt $(words)
	if [ '$(as_is)' ]; then
	    for split in train valid; do
	        python $(HERE)/repairs.py $(<D)/$$split.src $(<D)/$$split.tgt $(words)/$$split
	    done
	    lev-plugins confusions $(words)/train.src $(words)/train.tgt >$(@D)/confusions.tsv
	    python $(EXAMPLES)/grammar/widen.py $(<D)/train.tgt $(@D) --most $(LEVT_WORDS)
	    $(if $(CLEAN),python $(HERE)/familiar.py $(@D)/dict.txt <$(CLEAN) >>$(@D)/words)
	    for side in src draft tgt; do cp $(@D)/words $(words)/list.$$side; done
	else
	    awk '!seen[$$0]++' $(<D)/train.tgt >$(words)/train.tgt
	fi
	for split in train valid test; do cp $(words)/$$split.src $(words)/$$split.draft; done
	$(prepare_editor) -s src -t tgt $(foreach split,train valid test,--$(split)-prefix $(words)/$(split)) --dest $(@D)/bin \
	    $(if $(as_is),--tgtdict $(@D)/dict.txt --extra-train-prefix $(words)/list,--clean-dictionary --clean-train)

words = $(OUT)/words_$(noise)/text
as_is = $(filter as-is,$(noise))
# learned confusions in half of the pairs; the others stay as they are
mistakes = $(if $(as_is),--noise-kind confusions --noise-confusions $(OUT)/words_$(noise)/confusions.tsv --noise-share 0.5 \
    --noise-word-rate 0.25 $(if $(CLEAN),--upsample-primary $(PAIRS)),$(call noise_flags,--noise-))
$(foreach name,$(levt) $(spelled),$(OUT)/train_$(name)/begun): $(OUT)/words_$$(noise)/done
$(levt:%=$(OUT)/train_%/done): %/done: %/begun
	$(train) $(OUT)/words_$(noise)/bin --user-dir $(PLUGINS) -s src -t tgt $(editor_training) $(mistakes) $(device) \
	    --log-format simple --seed $(seed) --save-dir $(@D)

$(spelled:%=$(OUT)/train_%/done): %/done: %/begun
	$(train) $(OUT)/words_$(noise)/bin --user-dir $(PLUGINS) --task text_correction -s src -t tgt --arch gated_trans \
	    --gates $(gates.MCG) --spelling --bpe words $(editor_sizes) $(editor_schedule) $(mistakes) $(device) \
	    --criterion label_smoothed_cross_entropy --log-format simple --seed $(seed) --save-dir $(@D)

$(spelled:%=$(OUT)/test_%/done): editor_search = --beam $(BEAM)
$(foreach name,$(levt) $(spelled),$(OUT)/test_$(name)/done): $(OUT)/test_%/done: $(OUT)/train_%/done
	$(call make_editor,$(<D),$(OUT)/words_$(noise)/bin,$(@D)/editor,$(noisy)/valid.src,$(noisy)/valid.tgt)
	lev-plugins edit $(@D)/editor <$(words)/test.src >$(@D)/test.out
