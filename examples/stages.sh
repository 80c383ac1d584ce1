# Sourced by the run.sh of an example: flags, and stages that are done once and can be stopped at any time.
#
# The script sets `synopsis` (its usual flags) and `out` (where everything goes), and defines flags() (a line each: name, default,
# meaning; the default `no` marks a flag without a value, `-` stands for nothing), do_NAME for every stage, texts_of_NAME
# for one that reads files no stage has made (they are its standard output), and calls `stage NAME STAGE...` for each.
# shellcheck shell=bash
set -euo pipefail
shopt -s inherit_errexit

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
[[ -d $root/.venv/bin ]] && PATH="$root/.venv/bin:$PATH"
export PYTHONPATH="$root${PYTHONPATH:+:$PYTHONPATH}" PYTHONWARNINGS=ignore
current="" listing=""
exec 3>&1 4>&2 # the user's: a stop may come while a stage writes to its log

# ---- flags -------------------------------------------------------------------------------------------------------

declare -A opt=()
declare -A switch=()

usage() {
    echo "usage: bash run.sh $synopsis [flags]"
    while read -r name default meaning; do
        printf '  --%-16s %s (default: %s)\n' "$name" "$meaning" "$default"
    done < <(flags)
}

die() {
    echo "run.sh: error: $*" >&2
    exit 2
}

read_flags() {
    local name default _
    while read -r name default _; do
        [[ $default == - ]] && default=""
        [[ $default == no ]] && switch[$name]=1 && default=""
        opt[$name]=$default
    done < <(flags)
    while (($#)); do
        name=${1#--}
        [[ $1 == --help ]] && usage && exit 0
        [[ $1 == --* && -v opt[$name] ]] || die "there is no flag $1: see --help"
        if [[ -v switch[$name] ]]; then
            opt[$name]=yes
        else
            (($# > 1)) || die "$1 needs a value"
            opt[$name]=$2
            shift
        fi
        shift
    done
}

need_folders() { # NAME...
    local name
    for name in "$@"; do
        [[ ${opt[$name]} ]] || die "--$name is missing: give a folder"
    done
}

need_numbers() { # LEAST NAME...: whole numbers
    local name least=$1
    shift
    for name in "$@"; do
        if ((least)); then
            [[ ${opt[$name]} =~ ^[1-9][0-9]*$ ]] || die "--$name must be a whole number above 0, but is '${opt[$name]}'"
        else
            [[ ${opt[$name]} =~ ^[0-9]+$ ]] || die "--$name must be a whole number, 0 or above, but is '${opt[$name]}'"
        fi
    done
}

one_of() { # NAME CHOICE...
    local name=$1 choice choices
    shift
    choices="$*"
    for choice in "$@"; do
        [[ ${opt[$name]} == "$choice" ]] && return
    done
    die "--$name must be ${choices// / or }, but is '${opt[$name]}'"
}

need_files() { # FLAG FILE...: before the first stage, not hours later
    local flag=$1 file
    shift
    for file in "$@"; do [[ -f $file ]] || die "$flag: there is no file $file"; done
}

need_gpus() {
    [[ ${opt[gpus]} == auto || ${opt[gpus]} =~ ^[0-9]+$ ]] ||
        die "--gpus must be auto or a number, but is '${opt[gpus]}'"
}

need_fairseq() {
    command -v fairseq-train >/dev/null ||
        die "fairseq-train is not on the PATH: run make setup, or activate the environment"
}

count_gpus() { # torch is only asked where there is a driver: importing it takes seconds
    if [[ ${opt[gpus]} != auto ]]; then
        echo "${opt[gpus]}"
    elif [[ -z ${opt[dry-run]} ]] && command -v nvidia-smi >/dev/null; then
        python -c 'import torch; print(torch.cuda.device_count())'
    else
        echo 0
    fi
}

choose_device() { # sets gpus; device, flags of fairseq's commands; with_threads, what goes before them
    gpus=$(count_gpus)
    device=(--cpu) with_threads=(env "OMP_NUM_THREADS=${opt[threads]}")
    if ((gpus)); then device=() with_threads=(); fi
}

# ---- running commands --------------------------------------------------------------------------------------------

attended() { # OUT ERR COMMAND...: what stops this shell stops the command too, and at once
    local out=$1 err=$2
    shift 2
    "$@" >>"$out" 2>>"$err" & # its output alone: what this shell says of a stop goes where it always goes
    local child=$!
    trap "kill $child 2>/dev/null; exit 143" TERM INT HUP
    wait "$child"
    trap 'exit 143' TERM INT HUP
}

logged() { # COMMAND...: its output goes to the end of the stage's log
    if [[ $listing ]]; then show "$@" && echo; else attended "$log" "$log" "$@"; fi
}

captured() { # FILE COMMAND...: its standard output becomes FILE once it has succeeded
    local file=$1
    shift
    if [[ $listing ]]; then show "$@" && printf '> %q\n' "$file" && return; fi
    rm -f "$file.part"
    attended "$file.part" "$log" "$@"
    mv "$file.part" "$file"
}

show() {
    printf '%q ' "$@"
}

commands_of() { # NAME: what a stage runs, whatever the machine and the place of the folders
    local listing=yes text
    text=$("do_$1")
    text=${text//"$out"/OUT}
    text=${text//"$root"/ROOT}
    sed -E 's/ --cpu//; s/ --(distributed-world-size|processes) [0-9]+//' <<<"$text" |
        sed -E 's/env (CUDA_VISIBLE_DEVICES|OMP_NUM_THREADS)=[0-9]+ //'
}

input_of() { # NAME STAGE...: a line for each thing the stage starts from, which changes when that is made anew
    local name=$1 before
    shift
    if declare -F "texts_of_$name" >/dev/null; then "texts_of_$name" | cksum | sed 's/^/# text: /'; fi
    for before in "$@"; do
        sed -n "s/^# made/# from $before/p" "$out/$before/.done"
    done
}

updates_aside() {
    sed -E 's/ --max-update [0-9]+//'
}

stage() { # NAME STAGE...: run do_NAME in a folder of its own, once; it reads from the stages named after it
    local name=$1 started=$SECONDS wanted made
    shift
    if [[ ${opt[dry-run]} ]]; then
        listing=yes
        echo "# $name"
        "do_$name"
        return
    fi
    printf '%-19s ' "$name"
    wanted=$(commands_of "$name"; input_of "$name" "$@")
    local folder=$out/$name
    if [[ -e $folder/.done ]]; then
        made=$(grep -v '^# made' "$folder/.done")
        if [[ $made == "$wanted" ]]; then
            echo "already done"
            return
        fi
        [[ $(updates_aside <<<"$made") != "$(updates_aside <<<"$wanted")" ]] ||
            die "$folder was trained with another --max-update: remove $folder/.done to train on, $folder to begin" \
                "anew, or take another --out"
        die "$folder was made with other flags or from other files: remove it to make it anew, or take another --out"
    fi
    if [[ -e $folder/.started ]]; then
        [[ $(updates_aside <"$folder/.started") == "$(updates_aside <<<"$wanted")" ]] ||
            die "$folder was begun with other flags or from other files: remove it to begin anew, or take another --out"
    fi
    mkdir -p "$folder"
    echo "$wanted" >"$folder/.started"
    current=$name log=$folder/log listing=""
    "do_$name"
    current=""
    printf '%s\n# made %s\n' "$wanted" "$(date +%s.%N)" >"$folder/.done.part"
    mv "$folder/.done.part" "$folder/.done"
    echo "done in $((SECONDS - started)) s"
}

stage_anew() { # NAME STAGE...: seconds of work, so always done with all that is there
    [[ ${opt[dry-run]} ]] || rm -rf "${out:?}/$1"
    stage "$@"
}

at_exit() {
    local status=$?
    [[ -z $(jobs -p) ]] || kill $(jobs -p) 2>/dev/null || true
    if [[ $current ]] && ((status == 143)); then
        echo "stopped" >&3
    elif [[ $current ]]; then
        echo "failed" >&3
        {
            echo "run.sh: error: stage $current failed; the end of $log:"
            tail -n 20 "$log" 2>/dev/null | cut -c -600
        } >&4
    fi
    exit "$status"
}

# ---- all of it ---------------------------------------------------------------------------------------------------

main() { # the flags of the command line; the script also defines check_flags, prepare and run_stages
    read_flags "$@"
    check_flags
    prepare
    trap at_exit EXIT
    trap 'exit 143' TERM INT HUP
    run_stages
    [[ ${opt[dry-run]} ]] || cat "$out/report.md"
}
