#!/usr/bin/env bash
# scripts/try_out.sh VENV FOLDER: with what VENV has installed, train two updates of a tiny LevT and decode 40 lines.
set -euo pipefail
export PATH="$1/bin:$PATH" OMP_NUM_THREADS=1
cd "$2"

# lines of letters; the target is the source in alphabetical order
python - <<'END'
import pathlib, random
random.seed(1)
for split in ("train", "valid", "test"):
    rows = [random.choices("abcdefgh", k=random.randint(2, 6)) for _ in range(40)]
    for language, change in (("src", list), ("tgt", sorted)):
        pathlib.Path(f"{split}.{language}").write_text("".join(" ".join(change(row)) + "\n" for row in rows))
END

fairseq-preprocess -s src -t tgt --trainpref train --validpref valid --testpref test --destdir data --joined-dictionary
fairseq-train data --user-dir "$(lev-plugins path)" --task text_editing --arch levt_tiny --criterion dual_policy \
    --optimizer adam --lr 0.001 --max-tokens 400 --max-update 2 --save-dir checkpoints --cpu
fairseq-generate data --user-dir "$(lev-plugins path)" --task text_editing --path checkpoints/checkpoint_last.pt \
    --gen-subset test --batch-size 8 --cpu >generated.txt
test "$(grep -c '^H-' generated.txt)" = 40
