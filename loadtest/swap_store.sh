#!/usr/bin/env bash
# Makes the store that the scenario swap serves: three generations of random vectors of 768
# numbers in two shards, and a small model to encode questions with.  Installs and builds
# what is missing; generations that are there are left alone.
#
# usage: loadtest/swap_store.sh DIR [ITEMS]
#   ITEMS  of each generation; default 1000000, which takes 9.3 GB of disk in all
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/.." && pwd)
if [ $# -lt 1 ] || [ $# -gt 2 ] || [ "$1" = --help ]; then
  sed -n '2,/^set /s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
  if [ "${1:-}" = --help ]; then exit 0; else exit 1; fi
fi
store=$(realpath -m -- "$1")
readonly items=${2:-1000000}

"$root/deploy/bazel/setup.sh"
(cd "$root" && bazel build --noshow_progress //loadtest/synthesize //services/sightlinectl)
bin=$(cd "$root" && bazel info bazel-bin 2>/dev/null)
ctl=$bin/services/sightlinectl/sightlinectl

mkdir -p "$store"
sed -n 's/.*"query": *"\([^"]*\)".*/\1/p' "$root/deploy/demo/questions.jsonl" >"$store/questions.txt"
"$ctl" make-vocabulary --text "$store/questions.txt" --out "$store/vocab.txt"
model=$("$ctl" init-model --store "$store" --config "$here/synthesize/swap_encoder.json" \
  --vocabulary "$store/vocab.txt")
for number in 1 2 3; do
  "$bin/loadtest/synthesize/synthesize" --store "$store" --index images --items "$items" --shards 2 \
    --encoder-model "$model" --seed "$number" --generation "g$number"
done
