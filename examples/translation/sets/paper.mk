# The hyper-parameters of the paper (section 4.1, appendices B and C.1). NOT RUN at full scale here: the scores are unknown.
# An update has 65,536 tokens: 8 GPUs x 8,192; fewer GPUs take several batches per update. Checkpoints are chosen by
# validation and not averaged.
WIDTH := 512
FFN := 2048
HEADS := 8
LAYERS := 6
DROPOUT := 0.3
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
BEAM := 4
MAX_ITER := 9
AVERAGE := 0
VALID_EVERY := 5000
KIND := bpe
