# shellcheck shell=bash
# For run.sh and peers.sh, which source it: builds ours and makes the folder that data.py
# describes, but for the arrays.  Sets `bin` to Bazel's folder of programs.

prepare() {  # ROOT_OF_THE_TREE FOLDER
  local root=$1 folder=$2 baseline=$1/loadtest/baseline ctl id
  (cd "$root" && bazel build //loadtest/baseline:ours //services/sightlinectl)
  bin=$(cd "$root" && bazel info bazel-bin 2>/dev/null)
  ctl=$bin/services/sightlinectl/sightlinectl
  mkdir -p "$folder"
  if [ ! -e "$folder/model" ] || [ "$baseline/base.json" -nt "$folder/vocab.txt" ]; then
    "$ctl" make-vocabulary --corpus stamps,clipart,emoji --out "$folder/vocab.txt"
    id=$("$ctl" init-model --store "$folder/store" --config "$baseline/base.json" --vocabulary "$folder/vocab.txt")
    ln -sfn "store/models/$id" "$folder/model"
    rm -f "$folder/model_outliers"
  fi
  sed -n 's/.*"query": *"\([^"]*\)".*/\1/p' "$root/deploy/demo/questions.jsonl" >"$folder/queries.txt"
}

# After it: the model with outlier channels.
prepare_outliers() {  # ROOT_OF_THE_TREE FOLDER
  local folder=$2 ctl=$bin/services/sightlinectl/sightlinectl id
  [ ! -e "$folder/model_outliers" ] || return 0
  /usr/bin/python3 "$1/loadtest/baseline/outliers.py" "$folder/model/weights.safetensors" "$folder/outliers.safetensors"
  # What base.json says and weights do not.
  id=$("$ctl" convert "$folder/outliers.safetensors" --vocab "$folder/vocab.txt" \
    --out "$folder/store" --use joint --score-kind softmax_match --half --heads 12 \
    --max-tokens 70 --tag-tokens 0 --regions 36 2>"$folder/convert.log") ||
    { cat "$folder/convert.log" >&2; return 1; }
  rm "$folder/outliers.safetensors"
  ln -sfn "store/models/$id" "$folder/model_outliers"
}
