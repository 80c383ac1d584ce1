# The real triples of the WMT 2017 task, English-German, as in the paper (section 4.2, appendix C.2). NOT RUN at full scale.
# TEXT=DIR has train, valid and test, each .src, .mt and .pe (24,000 real triples for training); SYNTHETIC=DIR/500K has the
# 500,000 triples of Junczys-Dowmunt and Grundkiewicz (2016), PARALLEL=DIR/4M the sources and post-edits of their 4 million.
# The paper's batches have 65,536 tokens, over 8 GPUs. It names neither its schedule (here, the rate falls in a straight line
# to zero) nor how long it fine-tunes.
SOURCE := src
TARGET := pe
DRAFT := mt
VOCAB := 40000
WIDTH := 512
FFN := 2048
HEADS := 8
LAYERS := 6
DROPOUT := 0.3
TOKENS := 8192
LR := 0.0005
WARMUP := 10000
UPDATES := 300000
FINETUNE_UPDATES := 50000
FINETUNE_LR := 0.0005
VALID_EVERY := 5000
