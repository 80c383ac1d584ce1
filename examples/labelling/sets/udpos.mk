# Table 3: UDPOS with mT5 (Algorithm 3): trained on English, tested on 33 languages. NOT RUN at full scale.
# TEXT=DIR has udpos/{train,valid}.conllu of English, and the tests LANGUAGE.conllu in udpos/tests. The paper's score is the
# mean of tag_accuracy over the tests.
tasks := udpos
kind := tagging
metric := tag_accuracy
suffix := conllu
tests.udpos = $(or $(sort $(wildcard $(TEXT)/udpos/tests/*.conllu)),$(if $(DRY_RUN),,$(error \
    There are no files $(TEXT)/udpos/tests/LANGUAGE.conllu)))
DERIVED := tests.udpos
longest_target := 1000
