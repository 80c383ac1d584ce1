#!/usr/bin/env bash
# The sizes of the PBD paper (section 3.1), and the rows of its Table 1 with pre-training, in that order.
#
# Transformer-big: 1,024 wide, 4,096 inside, 16 heads, 6 blocks. The paper refers to an appendix for its training, but
# has none: all but these sizes is our choice. It pre-trains on 30 million corrupted sentences and 30 million from
# back-translation; here, all of TEXT is corrupted again in every epoch. Not run at full scale: the scores are unknown.
set -euo pipefail
RUNS=${RUNS:-runs}  # folder for one folder per row
export TEXT=${TEXT:?is missing: TEXT=FILE, clean English, one sentence per line}
export TUNE=${TUNE-$(echo data/{lang8,nucle,fce}/*.train.*.m2 data/wi-locness/ABC.train.*.m2)}  # M2 files to train on
export TEST_M2=${TEST_M2-data/wi-locness/ABCN.dev.gold.bea19.m2 data/conll14/official-2014.combined.m2}
export M2_FLAGS=${M2_FLAGS---by-kind}  # --errant: by ERRANT, as the paper scores BEA-19
ls $TUNE $TEST_M2 >/dev/null  # of missing ones, see examples/data.py --list, or name others in TUNE and TEST_M2
export VOCAB=32000 WIDTH=1024 FFN=4096 HEADS=16 TOKENS=8192 VALID_EVERY=5000
export UPDATES=${UPDATES:-200000} LR=0.0005 WARMUP=4000  # UPDATES=0: the rows without pre-training
export TUNE_UPDATES=30000 TUNE_LR=$([ "$UPDATES" = 0 ] && echo 0.0005 || echo 0.0003)

row() {  # row NAME ARCH LAYERS FLAG...
    OUT=$RUNS/$1 ARCH=$2 LAYERS=$3 TRAIN_FLAGS="--dropout 0.3 --update-freq 8 ${*:4}" bash "$(dirname "$0")/pbd.sh"
}
row transformer transformer 6
row transformer-12 transformer 12
row pbd pbd 6
row pbd-no-future pbd 6 --no-future
row pbd-no-sharing pbd 6 --no-sharing
row pbd-12 pbd 12
row pbd-12-no-future pbd 12 --no-future
row pbd-12-no-sharing pbd 12 --no-sharing
