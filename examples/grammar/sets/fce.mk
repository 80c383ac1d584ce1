# FCE, version 2.1 as in BEA-2019: training on its train, tested on its test, M2 and ERRANT.
# NOT RUN here.
include $(HERE)/sets/paper.mk
TUNE = $(M2)/fce.train.gold.bea19.m2
TEST_M2 = $(M2)/fce.test.gold.bea19.m2
