# The goals of the Makefiles beside this file: each is one of the run.py beside it, or of RUN. NAME=value on the command line is a
# setting of that example; `make -f FILE help` lists them, and `make -n` prints the commands of all stages. `data` fetches what
# the example reads, and `all` is the report.
MAKEFILE := $(firstword $(MAKEFILE_LIST))
ROOT := $(abspath $(dir $(lastword $(MAKEFILE_LIST)))..)
export PATH := $(if $(shell command -v lev-plugins),,$(ROOT)/.venv/bin:)$(PATH)
settings := $(foreach name,$(.VARIABLES),$(if $(filter command,$(origin $(name))),$(name)))
dry_run := $(if $(findstring n,$(filter-out --%,-$(firstword $(MAKEFLAGS)))),--dry-run)

.DEFAULT_GOAL := report
.NOTPARALLEL:
.PHONY: $(GOALS) data all
all: report
$(GOALS) data:
	+@python $(dir $(MAKEFILE))$(or $(RUN),run.py) $(dry_run) $@ $(foreach name,$(settings),'$(name)=$(subst ','\'',$($(name)))')
