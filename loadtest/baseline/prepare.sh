# shellcheck shell=bash
# For run.sh and peers.sh, which source it: builds ours and makes the folder that data.py
# describes, but for the arrays.  Sets `bin` to Bazel's folder of programs.

prepare() {  # ROOT_OF_THE_TREE FOLDER
  local root=$1 folder=$2 baseline=$1/loadtest/baseline ctl id
  (cd "$root" && bazel build //loadtest/baseline:ours //services/sightlinectl)
  bin=$(cd "$root" && bazel info bazel-bin 2>/dev/null)
  mkdir -p "$folder"
  if [ ! -e "$folder/model" ] || [ "$baseline/base.json" -nt "$folder/vocab.txt" ]; then
    ctl=$bin/services/sightlinectl/sightlinectl
    "$ctl" make-vocabulary --corpus stamps,clipart,emoji --out "$folder/vocab.txt"
    id=$("$ctl" init-model --store "$folder/store" --config "$baseline/base.json" --vocabulary "$folder/vocab.txt")
    ln -sfn "store/models/$id" "$folder/model"
  fi
  sed -n 's/.*"query": *"\([^"]*\)".*/\1/p' "$root/deploy/demo/questions.jsonl" >"$folder/queries.txt"
}
