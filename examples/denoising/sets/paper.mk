# The hyper-parameters of the paper (appendix B) for a pre-trained BERT, BART or T5, with and without gates: BACKBONE=DIR is
# a folder made by lev-plugins import-pretrained. NOT RUN at full scale here: the scores are unknown.
#
# Cross-entropy, Adam (0.9, 0.999), learning rate 5e-5, weight decay 0.001, batches of 32, at most 30 epochs, stopped after
# 10 without a better validation, texts cut after 300 pieces, sets without splits cut 80-10-10. What is new (gates,
# BERT's cross-attention) has ten times the learning rate; the paper says "larger" and no more. Random noise writes digits,
# capitals and signs, as in Table 2; two of its three keyboard slips have the wrong shift, and the tool that it names,
# nlpaug, offers each neighbouring letter in both cases, so half of ours do.
FOLDERS += TEXT BACKBONE
TRAIN := all
SYSTEMS := none,all,MG,CG,MCG
GATE_MIX := hidden
COPY_FROM := decoder-input
UPDATES := 1000000
SCHEDULE := fixed
SMOOTHING := 0
LR := 0.0005
LR_FACTOR := 0.1
WARMUP := 0
EPOCHS := 30
PATIENCE := 10
VALID_EVERY := 0
LONGEST := 300
TOKENS := 9600
COPIES := 1
ALPHABET := any
SHIFT_RATE := 0.5
