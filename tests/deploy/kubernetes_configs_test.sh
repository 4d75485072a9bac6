#!/usr/bin/env bash
# Every configuration of deploy/kubernetes is one that its program takes.
# usage: kubernetes_configs_test.sh PROGRAM... -- FILE...
set -euo pipefail
declare -A programs
while [ "$1" != -- ]; do
  programs[${1##*/}]=$1
  shift
done
shift
# The pod's index, which an Indexed Job gives.
export JOB_COMPLETION_INDEX=0
checked=0
for file in "$@"; do
  name=$(basename "$file" .yaml)
  case $file in
    */fleet/shard-*) program=(index_search) ;;
    # fleet.py completes these; what it makes of them is in an overlay's folder.
    */base/config/router.yaml | */base/config/index_search.yaml | */base/config/corpus_encoder.yaml) continue ;;
    */fleet/kustomization.yaml | */fleet/shards.yaml | */fleet/disruption.yaml) continue ;;
    */trainer.yaml) program=(trainer train) ;;
    *) program=("$name") ;;
  esac
  "${programs[${program[0]}]}" "${program[@]:1}" --config "$file" --check || { echo "refused: $file"; exit 1; }
  checked=$((checked + 1))
done
[ "$checked" -ge 7 ] || { echo "only $checked files were checked"; exit 1; }
