# What the paper's sets have in common (section 4.1, appendices B and C.1); sourced by the recipes beside it.
# NOT RUN at full scale here: the flags are the paper's, the scores are unknown.
#
# 512 wide, 2,048 inside, 8 heads, 6 + 6 blocks, dropout 0.3, label smoothing 0.1, learning rate 5e-4 with 10,000
# updates of warm-up, 65,536 tokens an update (8 GPUs x 8,192; fewer GPUs take several batches an update), 300,000
# updates, checkpoints chosen by validation and not averaged.

paper=(
    --width 512 --ffn 2048 --heads 8 --layers 6 --dropout 0.3 --label-smoothing 0.1
    --tokens 8192 --step-tokens 65536
    --teacher-updates 300000 --teacher-lr 0.0005 --teacher-warmup 10000
    --levt-start scratch --levt-tokens 8192 --levt-dropout 0.3 --levt-clip 0
    --levt-updates 300000 --levt-lr 0.0005 --levt-warmup 10000 --levt-schedule inverse_sqrt
    --gamma 0 --average 0 --valid-every 5000
)

reproduce() { # the set's flags, then the user's, which win
    exec bash "$(dirname "${BASH_SOURCE[0]}")/../run.sh" "${paper[@]}" "$@"
}
