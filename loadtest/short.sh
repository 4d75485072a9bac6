#!/usr/bin/env bash
# The short scenarios, one after another, over the demo's real pictures and model: a check
# of twenty seconds each that answers are whole, in order, of one generation and never
# failures.  Latency is printed, not judged.  Installs, builds and encodes what is missing.
#
# usage: loadtest/short.sh [--state DIR] [SCENARIO...]
#   --state DIR  where store, reports and logs live; default ~/.cache/sightline/short
#   SCENARIO     default: short_steady short_pictures short_kill short_pause short_swap
#
# One of which it cannot be told whether it holds, because the machine had other work, is run
# once more.  Requests that failed are failures then, whatever is in doubt.
#
# exit status: 0 all held, 1 one did not hold, or something failed, 2 wrong usage, 3 none
# failed, but of one it could not be told.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
state=${HOME:-/root}/.cache/sightline/short
scenarios=()
while [ $# -gt 0 ]; do
  case $1 in
    --state)
      [ -n "${2:-}" ] || { echo "short: --state needs a folder" >&2; exit 2; }
      state=$2
      shift
      ;;
    -h | --help) sed -n '2,/^set /s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
    -*) echo "short: unknown argument '$1'" >&2; exit 2 ;;
    *) scenarios+=("$1") ;;
  esac
  shift
done
[ ${#scenarios[@]} -gt 0 ] ||
  scenarios=(short_steady short_pictures short_kill short_pause short_swap)
state=$(realpath -m -- "$state")
readonly store=$state/store
mkdir -p "$state"

# The demo's own run makes the store, and is the first thing that is checked.
make_store() {
  deploy/demo/run.sh --once --state "$state" >"$state/demo.txt" 2>"$state/demo.log" ||
    { tail -n 20 "$state/demo.log" >&2; return 1; }
}

# Generations of other models, of an earlier demo, would be swapped in too, and those models be
# measured under load.
forget_other_models() {
  local model manifest
  model=$(sha256sum <deploy/demo/model/manifest.json | cut -d' ' -f1)
  for manifest in "$store"/indexes/*/generations/*/manifest.json; do
    [ ! -f "$manifest" ] || grep -qF "$model" "$manifest" || { rm -rf -- "$store"; return; }
  done
}

# A second generation, for the swap: the demo's, without its clip art and behind a graph, so that
# indexes of two kinds change places.  What it holds is encoded already.  Then the whole is
# published again.
make_second_generation() {
  grep -qsF '"hnsw"' "$store"/indexes/images/generations/*/manifest.json && return 0
  local bin model
  bin=$(bazel info bazel-bin 2>/dev/null)/services
  model=$("$bin/sightlinectl/sightlinectl" add-model deploy/demo/model --store "$store" \
    2>>"$state/second.log") || return 1
  cat >"$state/second.yaml" <<END
store: "$store"
model: $model
corpora: [{kind: stamps}, {kind: emoji}]
shards: 2
index_build: {kind: hnsw, code: int8}
END
  "$bin/corpus_encoder/corpus_encoder" --config "$state/second.yaml" \
    >>"$state/second.log" 2>&1 || { tail -n 20 "$state/second.log" >&2; return 1; }
  make_store
}

forget_other_models
if ! make_store || ! make_second_generation; then
  echo "short: the demo's store could not be made; the reason is above or in $state/demo.log and second.log" >&2
  exit 1
fi

run() {  # SCENARIO
  loadtest/run.sh "$1" --store "$store" --out "$state/$1" | tee "$state/$1.txt"
}

passed=0 failed=0 untold=0
for scenario in "${scenarios[@]}"; do
  status=0
  run "$scenario" || status=$?
  if [ "$status" = 3 ]; then
    status=0
    run "$scenario" || status=$?
    if [ "$status" = 3 ] && grep -qE '^  failed requests .* broken$' "$state/$scenario.txt"; then status=1; fi
  fi
  case $status in
    0) passed=$((passed + 1)) ;;
    3)
      echo "short: of $scenario it could not be told whether it holds; its report and logs are in $state/$scenario" >&2
      sed -nE 's/^  in doubt: /short: /p; s/^ +(.*[^ ]) +not measurable$/short: not measurable: \1/p' \
        "$state/$scenario.txt" >&2
      untold=$((untold + 1))
      ;;
    *)
      echo "short: $scenario did not hold; its report and logs are in $state/$scenario" >&2
      failed=$((failed + 1))
      ;;
  esac
done
echo "scenarios: $passed passed, $failed failed, $untold could not be told"
[ "$failed" = 0 ] || exit 1
[ "$untold" = 0 ] || exit 3
