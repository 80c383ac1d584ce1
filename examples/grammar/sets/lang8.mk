# Lang-8: learners' sentences as the corpus of BEA-2019 has them; the test is the development set of W&I+LOCNESS.
# NOT RUN here.
include $(HERE)/sets/paper.mk
TUNE = $(M2)/lang8.train.auto.bea19.m2
TEST_M2 = $(M2)/ABCN.dev.gold.bea19.m2
