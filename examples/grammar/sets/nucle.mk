# NUCLE, release 3.3, and the test of CoNLL-14 (official-2014.combined.m2), scored by M2.
# NOT RUN here.
include $(HERE)/sets/paper.mk
TUNE = $(M2)/nucle.train.gold.bea19.m2
TEST_M2 = $(M2)/official-2014.combined.m2
ERRANT :=
