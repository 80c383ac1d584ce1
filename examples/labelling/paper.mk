# The paper's sets and settings (section 4): a pre-trained T5 as EncT5, beside T5 writing the labels as text.
# These have been run on excerpts only.
#
#   make -f examples/labelling/paper.mk data report SET=glue TEXT=data/glue MODEL=t5-v1_1-base OUT=runs/glue
GOALS := report help
RUN := paper/run.py
include $(dir $(lastword $(MAKEFILE_LIST)))../common.mk
