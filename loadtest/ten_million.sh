#!/usr/bin/env bash
# Measures ten million items of 768 numbers, one generation at a time: exact search over float16 rows
# in memory, and an inverted file of codes in memory with these rows on the disk.  Leaves exact.json
# and ivf.json in DIR, beside the store, which may be deleted then; what is there is taken as it is.
# Installs and builds what is missing.
#
# usage: loadtest/ten_million.sh DIR [ITEMS]
#   ITEMS  default 10000000, which takes 17 GB of disk, 17 GB of memory to build, and half an hour
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/.." && pwd)
if [ $# -lt 1 ] || [ $# -gt 2 ] || [ "$1" = --help ]; then
  sed -n '2,/^set /s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
  if [ "${1:-}" = --help ]; then exit 0; else exit 2; fi
fi
out=$(realpath -m -- "$1")
readonly items=${2:-10000000} store=$out/store

"$root/deploy/bazel/setup.sh"
(cd "$root" && bazel build --noshow_progress //loadtest/synthesize //services/sightlinectl \
  //loadtest/bench:index_benchmark)
bin=$(cd "$root" && bazel info bazel-bin 2>/dev/null)
measure=("$bin/loadtest/bench/index_benchmark" --store "$store" --index images)

mkdir -p "$store"
"$bin/loadtest/synthesize/synthesize" --store "$store" --index images --items "$items" \
  --dimension 768 --vector-dtype float16
exact=$(cd "$store/indexes/images/generations" && echo synthetic-*)
case $exact in
  *' '*) echo "ten_million: $store has several: $exact; give a DIR of its own" >&2; exit 1 ;;
esac
"${measure[@]}" --generation "$exact" --rounds 1 --json "$out/exact.json"
ivf=$("$bin/services/sightlinectl/sightlinectl" reindex images --store "$store" \
  --generation "$exact" --kind ivf --code rabitq --pq-parts 128 --refine 50 --recall 0.95 \
  --rows-on-disk | tail -n 1)
"${measure[@]}" --on-disk "$ivf" --rounds 3 --json "$out/ivf.json"
