# All four, as the PBD paper trains: Lang-8, NUCLE, FCE, W&I+LOCNESS; the test is the development set of W&I+LOCNESS.
# NOT RUN here.
include $(HERE)/sets/paper.mk
TUNE = $(addprefix $(M2)/,lang8.train.auto.bea19.m2 nucle.train.gold.bea19.m2 fce.train.gold.bea19.m2 ABC.train.gold.bea19.m2)
TEST_M2 = $(M2)/ABCN.dev.gold.bea19.m2
