# What the paper's sets have in common (section 4.1, appendices B and C.1); the other files here include it.
# NOT RUN at full scale here: the settings are the paper's, the scores are unknown.
#
# 512 wide, 2,048 inside, 8 heads, 6 + 6 blocks, dropout 0.3, label smoothing 0.1, learning rate 5e-4 with 10,000
# updates of warm-up, 65,536 tokens per update (8 GPUs x 8,192; fewer GPUs take several batches per update), 300,000
# updates, checkpoints chosen by validation and not averaged.
WIDTH := 512
FFN := 2048
HEADS := 8
LAYERS := 6
DROPOUT := 0.3
LABEL_SMOOTHING := 0.1
TOKENS := 8192
STEP_TOKENS := 65536
TEACHER_UPDATES := 300000
TEACHER_LR := 0.0005
TEACHER_WARMUP := 10000
LEVT_START := scratch
LEVT_TOKENS := 8192
LEVT_DROPOUT := 0.3
LEVT_CLIP := 0
LEVT_UPDATES := 300000
LEVT_LR := 0.0005
LEVT_WARMUP := 10000
LEVT_SCHEDULE := inverse_sqrt
GAMMA := 0
AVERAGE := 0
VALID_EVERY := 5000
KIND := bpe
