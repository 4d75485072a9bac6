#!/usr/bin/env bash
# Makes the store that the scenarios base_* serve: pictures of random vectors and of 36 random
# regions, and an OSCAR of base size with random weights that encodes questions and reranks.
# Installs and builds what is missing; a generation that is there is left alone.
#
# usage: loadtest/base_store.sh DIR [ITEMS]
#   ITEMS  default 8000, which take 0.5 GB of disk
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/.." && pwd)
if [ $# -lt 1 ] || [ $# -gt 2 ] || [ "$1" = --help ]; then
  sed -n '2,/^set /s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
  if [ "${1:-}" = --help ]; then exit 0; else exit 2; fi
fi
store=$(realpath -m -- "$1")
readonly items=${2:-8000}

"$root/deploy/bazel/setup.sh"
(cd "$root" && bazel build --noshow_progress //loadtest/synthesize //services/sightlinectl)
bin=$(cd "$root" && bazel info bazel-bin 2>/dev/null)

mkdir -p "$store"
model=$("$bin/services/sightlinectl/sightlinectl" init-model --store "$store" \
  --config "$here/baseline/base.json" --vocabulary "$root/deploy/demo/model/vocab.txt")
"$bin/loadtest/synthesize/synthesize" --store "$store" --index images --items "$items" --shards 2 \
  --encoder-model "$model" --reranker-model "$model" --regions 36
