# The sizes and the training of the PBD paper (section 3.1 and appendix), as far as they are given there: transformer-big
# (1,024 wide, 4,096 inside, 16 heads, 6 blocks). NOT RUN at full scale: the scores are unknown. The paper pre-trains on 30
# million corrupted sentences and 30 million from back-translation; here all of TEXT is corrupted again in every epoch.
VOCAB := 32000
LAYERS := 6
WIDTH := 1024
FFN := 4096
HEADS := 16
DROPOUT := 0.3
TOKENS := 8192
STEP_BATCHES := 8
LR := 0.0005
WARMUP := 4000
UPDATES := 200000
VALID_EVERY := 5000
TUNE_UPDATES := 30000
TUNE_LR := 0.0003
