# The paper's sets and settings (section 4): a pre-trained T5 as EncT5, beside T5 writing the labels as text.
# These have not been run at full scale.
#
#   make -f examples/labelling/paper.mk SET=glue TEXT=DIR MODEL=t5-v1_1-base OUT=runs/glue

TEXT := # folder of the texts: see the file of the set
MODEL := # folder of a T5, as downloaded from huggingface.co
OUT := # folder for all output; the same one continues after a stop
ONLY := # GLUE: tasks to run, such as mrpc,rte; empty: all
FLAGS := # more flags for every fairseq-train
STSB := classes # GLUE: what the scores of STS-B are to EncT5: classes, or number (trained by mean squared error)
ENCT5_FLAGS := # more flags for every fairseq-train of EncT5
THREADS := 2 # CPU: threads of a training

choices.ONLY = '' $(tasks)
choices.STSB := classes number
FOLDERS := SET TEXT MODEL OUT
LISTS := ONLY
POSITIVE := THREADS
SELECT := ONLY THREADS
kind := classification
suffix := tsv
batch := --pack --pack-length 512 --max-tokens 65536# EncT5: 128 rows of 512 tokens
longest_target := 84# T5: maximum tokens of its output
chosen = $(or $(call list,$(ONLY)),$(tasks))
INPUTS = $(foreach task,$(chosen),$(TEXT)/$(task)/train.$(suffix) $(TEXT)/$(task)/valid.$(suffix) $(tests.$(task))) \
    $(all_labels) $(MODEL)/config.json
include $(dir $(lastword $(MAKEFILE_LIST)))../common.mk

# a target is OUT/TASK/...
task = $(firstword $(subst /, ,$(@:$(OUT)/%=%)))
its = $(or $($(1).$(task)),$($(1)))
question = --label-kind $(or $(enct5_kind.$(task)),$(call its,kind))
training = --user-dir $(PLUGINS) $(device) --optimizer adafactor --scale-parameter --lr 0.001 --dropout 0.1 --max-update 100000 \
    $(if $(device),,--bf16) --maximize-best-checkpoint-metric --no-epoch-checkpoints --save-dir $(@D)

# fairseq's names of the tests: test, test1, test2, ...
numbers := $(shell seq 1 99)
names := test $(numbers:%=test%)
tests = $(wordlist 1,$(words $(tests.$(task))),$(names))
file.train = $(TEXT)/$(task)/train.$(suffix)
file.valid = $(TEXT)/$(task)/valid.$(suffix)
$(foreach n,$(numbers),$(eval file.$(word $(n),$(names)) = $$(word $(n),$$(tests.$$(task)))))

backbone := $(OUT)/backbone/data
$(OUT)/backbone/done:
	lev-plugins import-pretrained $(MODEL) $(backbone)

# ---- EncT5 -----------------------------------------------------------------------------------------------------------
$(chosen:%=$(OUT)/%/labels/done): $(OUT)/backbone/done
	lev-plugins prepare-labels $(question) --train $(file.train) --valid $(file.valid) $(if $(tests),--test $(tests.$(task))) \
	    --pretrained-tokenizer $(backbone) --dest $(@D)/bin $(layout.$(task)) $(enct5_layout)

$(chosen:%=$(OUT)/%/enct5/begun): $(OUT)/%/enct5/begun: $(OUT)/%/labels/done
$(chosen:%=$(OUT)/%/enct5/done): %/done: %/begun
	$(train) $(OUT)/$(task)/labels/bin $(training) --task text_labelling $(question) --arch enct5 --backbone $(backbone) \
	    --criterion labelling $(batch) --best-checkpoint-metric $(call its,metric) --validate-interval 1000000 \
	    --validate-interval-updates 1000 --save-interval-updates 1000 --keep-interval-updates 1 $(FLAGS) $(ENCT5_FLAGS)

$(chosen:%=$(OUT)/%/enct5-test/done): %-test/done: %/done
	for part in $(strip valid $(tests)); do \
	    fairseq-validate $(OUT)/$(task)/labels/bin --user-dir $(PLUGINS) $(device) --task text_labelling --max-tokens 16384 \
	        --path $(<D)/checkpoint_best.pt --valid-subset $$part >$(@D)/$$part.scores 2>&1 || exit 1; \
	    $(on_threads) python $(HERE)/score.py $(<D)/checkpoint_best.pt --part $$part $(device) --output $(@D)/$$part.json || exit 1; \
	done

# ---- T5, the baseline ------------------------------------------------------------------------------------------------
as_text = python $(HERE)/text_to_text.py $(file.$(part)) --label-kind $(call its,kind) $(layout.$(task)) --output $(@D)/$(part)
$(chosen:%=$(OUT)/%/t5-data/done): $(OUT)/backbone/done
	$(foreach part,train valid $(tests),$(as_text)$(newline)	lev-plugins encode $(backbone) $(@D)/$(part).src $(@D)/$(part).tgt \
	    --into $(@D)/pieces$(newline)	)fairseq-preprocess -s src -t tgt --trainpref $(@D)/pieces/train --validpref $(@D)/pieces/valid $(if $(tests),--testpref \
	    $(subst $() ,$(comma),$(strip $(tests:%=$(@D)/pieces/%)))) --joined-dictionary --srcdict $(backbone)/dict.txt --destdir $(@D)/bin

source := --truncate-source --max-source-positions 512
$(chosen:%=$(OUT)/%/t5/begun): $(OUT)/%/t5/begun: $(OUT)/%/t5-data/done
$(chosen:%=$(OUT)/%/t5/done): %/done: %/begun
	$(train) $(OUT)/$(task)/t5-data/bin $(training) --task text_correction --arch gated_t5 --gates '' --backbone $(backbone) \
	    --criterion cross_entropy --batch-size 128 --eval-exact-match $(source) --max-target-positions 1024 \
	    --best-checkpoint-metric exact_match $(FLAGS)

$(chosen:%=$(OUT)/%/t5-test/done): %-test/done: %/done
	$(foreach part,valid $(tests),$(generate) $(OUT)/$(task)/t5-data/bin --user-dir $(PLUGINS) $(device) --task text_correction \
	    --gen-subset $(part) --beam 1 --max-len-b $(longest_target) --path $(<D)/checkpoint_best.pt $(source) --bpe pretrained \
	    --pretrained-tokenizer $(backbone) >$(@D)/$(part).generated$(newline)	$(as_text) --generated \
	    $(@D)/$(part).generated$(newline)	)

report: $(foreach task,$(chosen),$(OUT)/$(task)/enct5-test/done $(OUT)/$(task)/t5-test/done)
	tail -n 1 $(foreach task,$(chosen),$(OUT)/$(task)/enct5-test/*.scores $(OUT)/$(task)/enct5-test/*.json $(OUT)/$(task)/t5-test/*.scores.json)
