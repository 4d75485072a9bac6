#!/usr/bin/env bash
# Makes the store of the scenarios million and million_capacity: a million vectors grown from the
# demo's pictures (loadtest/synthesize), as index `exact`, searched exactly in float32, and as index
# `images`, the same vectors behind an inverted file of one bit a number that finds 95 of 100.
# Installs and builds what is missing, and brings the demo's store to today's model; generations that
# are there are left alone.
#
# usage: loadtest/million_store.sh DIR [ITEMS]
#   ITEMS  of each index; default 1000000, which takes 2.5 GB of disk in all
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/.." && pwd)
if [ $# -lt 1 ] || [ $# -gt 2 ] || [ "$1" = --help ]; then
  sed -n '2,/^set /s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
  if [ "${1:-}" = --help ]; then exit 0; else exit 2; fi
fi
store=$(realpath -m -- "$1")
readonly items=${2:-1000000}

demo=${HOME:-/root}/.cache/sightline/demo/store
"$root/deploy/demo/run.sh" --once  # a store of today's model; one that is there is taken
"$root/deploy/bazel/setup.sh"
(cd "$root" && bazel build --noshow_progress //loadtest/synthesize //services/sightlinectl)
bin=$(cd "$root" && bazel info bazel-bin 2>/dev/null)

mkdir -p "$store"
model=$("$bin/services/sightlinectl/sightlinectl" add-model "$root/deploy/demo/model" \
  --store "$store")
synthesize=("$bin/loadtest/synthesize/synthesize" --store "$store" --items "$items"
  --encoder-model "$model" --like "$demo")
"${synthesize[@]}" --index exact
"${synthesize[@]}" --index images --index-kind ivf --index-code rabitq --recall 0.95
