# W&I+LOCNESS, version 2.1: training on ABC.train, tested on ABCN.dev (the test set has no public references).
# NOT RUN here.
include $(HERE)/sets/paper.mk
TUNE = $(M2)/ABC.train.gold.bea19.m2
TEST_M2 = $(M2)/ABCN.dev.gold.bea19.m2
