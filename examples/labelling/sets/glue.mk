# Table 1: GLUE with T5 1.1 (Algorithm 1), beside T5 writing the labels. NOT RUN at full scale.
# TEXT=DIR has one folder per task with train.tsv and valid.tsv: the texts, then the label, separated by TABs, no header; mnli
# has mismatched.tsv, too. STS-B has 21 classes, 0.0, 0.2, ... 5.0, as in the paper; STSB=number is a regression instead. Texts
# are cut off at 512 tokens, as in the paper.
# Table 4, a decoder of 12 blocks, from scratch or T5's own: ENCT5_FLAGS="--decoder-layers 12", or
# ENCT5_FLAGS="--decoder-layers 12 --decoder-init backbone"
tasks := mnli qqp qnli mrpc rte sst2 cola stsb
kind.stsb := regression
enct5_kind.stsb := $(if $(filter classes,$(STSB)),classification)
metric.qqp := f1
metric.mrpc := f1
metric.cola := matthews
metric.stsb := spearman
metric := accuracy
tests.mnli = $(TEXT)/mnli/mismatched.tsv
pair = --text-columns 2 --template '$(1) $(2): {0} $(3): {1}'
layout.mnli := $(call pair,mnli,premise,hypothesis)
layout.qqp := $(call pair,qqp,question1,question2)
layout.qnli := $(call pair,qnli,question,sentence)
layout.mrpc := $(call pair,mrpc,sentence1,sentence2)
layout.rte := $(call pair,rte,sentence1,sentence2)
layout.stsb := $(call pair,stsb,sentence1,sentence2)
layout.sst2 := --template 'sst2 sentence: {0}'
layout.cola := --template 'cola sentence: {0}'
enct5_layout = --longer cut $(if $(enct5_kind.$(task)),--round-labels 0.2)
