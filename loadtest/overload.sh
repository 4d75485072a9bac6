#!/usr/bin/env bash
# What a fleet is good for at twice its capacity: looks for the capacity, or takes one that is
# known, offers twice that, and prints goodput as a share of the capacity, with what it is counted
# by: answers in time, the depth of reranking, Recall@1 beside that of retrieval alone.  Asked are
# captions of the store, if it is there and has any, which are many and labelled; else what the
# scenarios ask.
#
# usage: loadtest/overload.sh [CAPACITY OVERLOAD] [--capacity RATE] [--store DIR] [--out DIR]
#   CAPACITY         a scenario that looks for it; default capacity
#   OVERLOAD         one of the same mix, of which the rate is set; default overload
#   --capacity RATE  requests a second; then CAPACITY is not run
#   --store DIR      what the fleets serve; default for base_overload: the store that
#                    loadtest/base_store.sh makes below ~/.cache/sightline, else the demo's
#   --out DIR        reports; default ~/.cache/sightline/loadtest/twice_OVERLOAD
#
# exit status: 0 it is told, whatever it is, 1 the capacity was not found or something failed, 2 wrong
# usage, others as of loadtest/run.sh.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
readonly cache=${HOME:-/root}/.cache/sightline
usage() {
  sed -n '2,/^set /s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
  exit 2
}

names=() rate='' store='' out=''
while [ $# -gt 0 ]; do
  case $1 in
    --capacity | --store | --out)
      [ -n "${2:-}" ] || usage
      case $1 in --capacity) rate=$2 ;; --store) store=$2 ;; --out) out=$2 ;; esac
      shift
      ;;
    -*) usage ;;
    *) names+=("$1") ;;
  esac
  shift
done
[ ${#names[@]} -gt 0 ] || names=(capacity overload)
[ ${#names[@]} -eq 2 ] && [[ ${rate:-1} =~ ^[0-9]+(\.[0-9]+)?$ ]] || usage
for name in "${names[@]}"; do [ -f "$here/scenarios/$name.yaml" ] || usage; done
out=$(realpath -m -- "${out:-$cache/loadtest/twice_${names[1]}}")
if [ -z "$store" ] && [ "${names[1]}" = base_overload ]; then
  store=$cache/base_store
  "$here/base_store.sh" "$store" >&2
fi
mkdir -p "$out"
change=()
if [ -e "${store:-$cache/demo/store}/indexes/captions/CURRENT" ]; then
  (cd "$here/.." && bazel build --noshow_progress //services/evaluator >&2)
  evaluator=$(cd "$here/.." && bazel info bazel-bin 2>/dev/null)/services/evaluator/evaluator
  captions=$(mktemp --suffix=.jsonl)
  trap 'rm -f "$captions"' EXIT
  if "$evaluator" write-questions --store "${store:-$cache/demo/store}" --limit 2000 >"$captions"; then
    change=("queries=$captions")
  fi
fi
if [ -z "$rate" ]; then
  "$here/ratios.py" change "$here/scenarios/${names[0]}.yaml" arrivals.kind=poisson "${change[@]}" \
    >"$out/capacity.yaml"
  "$here/run.sh" "$out/capacity.yaml" ${store:+--store "$store"} --out "$out/capacity"
  rate=$("$here/ratios.py" rate "$out/capacity/report.json")
fi
twice=$(awk -v rate="$rate" 'BEGIN { printf "%.6g", 2 * rate }')
"$here/ratios.py" change "$here/scenarios/${names[1]}.yaml" "arrivals.rate=$twice" "${change[@]}" \
  >"$out/overload.yaml"
status=0
"$here/run.sh" "$out/overload.yaml" ${store:+--store "$store"} --out "$out/overload" || status=$?
# What did not hold is told below as well.
[ "$status" -le 1 ] || exit "$status"
"$here/ratios.py" overload "$rate" "$out/overload/report.json"
