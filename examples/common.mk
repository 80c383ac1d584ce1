# Shared by the Makefiles of the examples: included after their settings and before their rules.
#
# A setting is a line `NAME := default # meaning`; `make -f FILE help` lists them, NAME=value on the command line changes
# one. Before the include, a Makefile lists the settings that are required (FOLDERS), that are whole numbers above 0
# (POSITIVE) or from 0 (WHOLE), that may have several values (LISTS), whose final slash counts (VERBATIM), and that only select
# what to run this time (SELECT); choices.NAME has the possible values of NAME ('': empty). All others must stay the same in one
# OUT, as must the files in INPUTS and the variables in DERIVED: OUT/settings records them.
#
# A rule makes the folder OUT/NAME, and its target is the stamp OUT/NAME/done: see stage.sh. A training continues after a
# stop, so it depends on a second stamp, OUT/NAME/begun, which depends on its inputs: if they change, the training
# starts again.

GPUS := auto # GPUs to use; 0 = CPU
SET := # name of a file in sets/, with other defaults

SHELL := bash
.SHELLFLAGS = $(EXAMPLES)/stage.sh $(OUT) $@
.ONESHELL:
.DELETE_ON_ERROR:
.SECONDEXPANSION:
.DEFAULT_GOAL := report
.PHONY: report help

MAKEFILE := $(firstword $(MAKEFILE_LIST))
HERE := $(patsubst %/,%,$(dir $(MAKEFILE)))
ROOT := $(abspath $(HERE)/../..)
PLUGINS := $(patsubst $(CURDIR)/%,%,$(ROOT)/lev_plugins)
EXAMPLES := $(patsubst $(CURDIR)/%,%,$(ROOT)/examples)
DRY_RUN := $(findstring n,$(filter-out --%,-$(firstword $(MAKEFLAGS))))
MAKEFLAGS += --silent --no-builtin-rules
export PATH := $(if $(shell command -v lev-plugins),,$(ROOT)/.venv/bin:)$(PATH)
export PYTHONPATH := $(ROOT)$(if $(PYTHONPATH),:$(PYTHONPATH))
export PYTHONWARNINGS := ignore
# idle threads of torch give up their cores sooner: on a busy machine twice as fast, on an idle one the same
$(if $(OMP_WAIT_POLICY),,$(eval export GOMP_SPINCOUNT ?= 10000))
comma := ,
hash := \#
open := (
close := )
define newline


endef
list = $(subst $(comma), ,$(1))

set_folder := $(HERE)/$(or $(SETS),sets)
sets := $(basename $(notdir $(wildcard $(set_folder)/*.mk)))
help:
	sed -nE 's/^([A-Z0-9_]+) *:= *([^#]*[^# ])? *# (.*)/\1=\2|\3/p' $(MAKEFILE) $(EXAMPLES)/common.mk | \
	    awk -F'|' '$(if $(sets),,/^SET=/ { next } ){ printf "%-34s %s\n", $$1, $$2 }'

%/begun:
	rm -rf $(@D)
	mkdir -p $(@D)
	touch $@

$(if $(filter nocomment,$(.FEATURES)),,$(error GNU make 4.3 is needed: on macOS, brew install make, and call gmake))
settings := $(shell sed -nE 's/^([A-Z0-9_]+) *:=.*\# .*/\1/p' $(MAKEFILE) $(EXAMPLES)/common.mk)
ifeq ($(MAKECMDGOALS),help)
OUT := $(strip $(OUT))
else

# ---- settings that are unknown, missing or wrong ---------------------------------------------------------------------
given := $(foreach name,$(.VARIABLES),$(if $(filter command,$(origin $(name))),$(name)))
$(foreach name,$(filter-out $(settings),$(given)),$(error There is no setting $(name): choose from $(settings)))

$(if $(filter-out $(sets),$(SET)),$(error There is no set $(SET)$(if $(sets),: choose from $(sets),, and this example has none)))
-include $(SET:%=$(set_folder)/%.mk)
$(foreach name,$(settings),$(eval override $(name) := $$(strip $$($(name)))))
$(foreach name,$(filter-out $(VERBATIM),$(settings)),$(eval override $(name) := $$(patsubst %/,%,$$($(name)))))

digits = $(subst 0,,$(subst 1,,$(subst 2,,$(subst 3,,$(subst 4,,$(subst 5,,$(subst 6,,$(subst 7,,$(subst 8,,$(subst 9,,$(1)))))))))))
each = $(or $(if $(filter $(1),$(LISTS)),$(call list,$($(1))),$(if $(word 2,$($(1))),$(error \
    $(1) must be one value, but is '$($(1))'),$($(1)))),'')
number = $(foreach word,$(each),$(if $(call digits,$(word))$(if $(findstring above 0,$(2)),$(if $(subst 0,,$(word)),,0)),$(error \
    $(1) must be $(2), but is '$($(1))')))
choice = $(foreach word,$(each),$(if $(filter $(word),$(choices.$(1))),,$(error $(1) has no $(word): choose from $(choices.$(1)))))

switches := $(shell sed -nE 's/^([A-Z0-9_]+) *:= *\# yes: .*/\1/p' $(MAKEFILE))
$(foreach name,$(switches),$(eval choices.$(name) := '' yes))
$(if $(filter SET,$(FOLDERS)),$(if $(SET),,$(error SET is missing: choose from $(sets))))
$(foreach name,$(FOLDERS),$(if $($(name)),,$(error $(name) is missing: give a folder, $(name)=DIR)))
$(foreach name,$(FOLDERS),$(if $(word 2,$($(name))),$(error $(name) must not have blanks, but is '$($(name))')))
# make and the shell read these signs in their own ways
odd = $(strip $(foreach sign,: = % ; & | ' " ` < > $(hash) $(open) $(close),$(findstring $(sign),$(1))))
$(foreach path,$(foreach name,$(FOLDERS),$($(name))) $(INPUTS),$(if $(call odd,$(path)),$(error \
    the path $(path) has $(call odd,$(path)): give one without such signs)))
# make writes ./x as x, and not every shell replaces the ~ of OUT=~/x
$(foreach name,$(FOLDERS),$(eval override $(name) := $$(patsubst ~/%,$$(HOME)/%,$$($(name)))))
override OUT := $(patsubst ./%,%,$(patsubst .,$(CURDIR),$(OUT)))
$(foreach name,$(settings),$(if $(choices.$(name)),$(call choice,$(name))))
$(foreach name,$(POSITIVE),$(call number,$(name),a whole number above 0))
$(foreach name,$(WHOLE),$(call number,$(name),a whole number$(comma) 0 or above))
$(if $(filter auto,$(GPUS)),,$(call number,GPUS,auto or a whole number))

# ---- settings and files that changed ---------------------------------------------------------------------------------
$(foreach name,$(settings) $(DERIVED),$(eval now.$(name) := $$($(name))))
ifndef DRY_RUN
$(if $(shell PATH="$(PATH)"; command -v fairseq-train),,$(error fairseq-train is not on the PATH: run make setup, \
    or activate the environment))
$(foreach file,$(INPUTS),$(if $(wildcard $(file)),,$(error There is no file $(file))))
$(foreach file,$(INPUTS),$(if $(wildcard $(file)/.),$(error $(file) is a folder: name a file)))
$(foreach file,$(INPUTS),$(eval now.$(file) := $$(shell cksum <$(file))))
endif

-include $(OUT)/settings
differ = $(subst x$(1)x,,x$(2)x)$(subst x$(2)x,,x$(1)x)
same = $(if $(filter undefined,$(origin was.$(1))),$(1),$(if $(call differ,$(was.$(1)),$(now.$(1))),$(error \
    $(OUT) was made $(if $(filter $(1),$(INPUTS)),from another $(1),with $(1)='$(was.$(1))' and not '$(now.$(1))'): \
    take another OUT, remove $(OUT)$(comma) or$(comma) if nothing that was made depends on it$(comma) remove its line in $(OUT)/settings)))
new := $(foreach name,$(filter-out OUT SET GPUS $(SELECT),$(settings)) $(DERIVED) $(if $(DRY_RUN),,$(INPUTS)),$(call same,$(name)))
export NEW_SETTINGS := $(foreach name,$(new),was.$(name) := $(subst #,\#,$(subst $$,$$$$,$(now.$(name))))$(newline))
gpus := $(if $(filter-out auto,$(GPUS)),$(GPUS),$(if $(DRY_RUN),0,$(shell PATH="$(PATH)"; command -v nvidia-smi \
    >/dev/null && python -c 'import torch; print(torch.cuda.device_count())' || echo 0)))
device := $(if $(filter 0,$(gpus)),--cpu)
on_threads := $(if $(filter 0,$(gpus)),OMP_NUM_THREADS=$(THREADS))
# yes if SymSpell is to be scored, in examples with the setting SYMSPELL
speller := $(strip $(if $(filter auto,$(SYMSPELL)),$(if $(DRY_RUN),yes,$(shell PATH="$(PATH)" python -c \
    'import symspellpy; print("yes")' 2>/dev/null)),$(filter yes,$(SYMSPELL))))
processes := $(or $(filter-out 0,$(gpus)),1) # of a training
train := $(strip $(on_threads) fairseq-train --distributed-world-size $(processes))
generate := $(strip $(on_threads) fairseq-generate)

endif
