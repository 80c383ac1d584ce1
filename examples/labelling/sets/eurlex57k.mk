# Table 2: EURLEX57K with T5 1.1 (Algorithm 2, one latent per label). NOT RUN at full scale.
# TEXT=DIR has eurlex/{train,valid,test}.tsv: header, recitals and main body as one text, TAB, labels separated by commas; and
# eurlex/labels.txt with all 4,271 labels. Documents are cut off at 512 tokens, as in the paper. Not enough memory for one
# latent per label? Add ENCT5_FLAGS="--latents one".
tasks := eurlex
kind := multilabel
metric := micro_f1
tests.eurlex = $(TEXT)/eurlex/test.tsv
# 128 texts per update; not packed: the latents of a row, 4,271 per text, would look at each other's places for nothing
batch := --max-tokens 8192 --update-freq 8
all_labels = $(TEXT)/eurlex/labels.txt
enct5_layout = --labels $(all_labels) --longest 512 --longer cut
longest_target := 64
