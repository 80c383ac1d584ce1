# What the recipes of this folder have in common: sizes and training of the PBD paper's section 3.1 and appendix, as far
# as they are told. Sourced by the others. NOT RUN at full scale: what they give is unknown.
#
# transformer-big (1,024 wide, 4,096 inside, 16 heads, 6 blocks). The paper pre-trains on 30 million corrupted sentences
# and 30 million of back-translation; here all of --text is corrupted anew in every epoch.

paper=(
    --vocab 32000 --layers 6 --width 1024 --ffn 4096 --heads 16 --dropout 0.3 --tokens 8192 --step-batches 8
    --lr 0.0005 --warmup 4000 --updates 200000 --valid-every 5000 --tune-updates 30000 --tune-lr 0.0003
)

reproduce() { # the set's flags, then the user's, which win
    exec bash "$(dirname "${BASH_SOURCE[0]}")/../run.sh" "${paper[@]}" "$@"
}

need_files() { # FILE...
    local file
    for file in "$@"; do
        [[ -f $file ]] || {
            echo "there is no file $file: the head of this script says where it comes from" >&2
            exit 2
        }
    done
}
