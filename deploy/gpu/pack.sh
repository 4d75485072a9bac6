#!/usr/bin/env bash
# Makes the folder that deploy/gpu/check.sh needs on a machine with a GPU and without Bazel, gRPC,
# Abseil or protobuf: their libraries and headers, code that rules generate, what is compiled of
# FAISS, and build.json, which says what our programs are made of and how.  Sources come from the
# clone, LibTorch and CUDA from that machine.  Prints the bytes of each part, and of the archive.
#
# usage: deploy/gpu/pack.sh [--out FOLDER]
#   --out FOLDER  is made anew, and FOLDER.tar.xz beside it; default ~/.cache/sightline/gpu/pack
#
# environment:
#   CUDA_HOME     CUDA, whose nvcc Bazel asks for when it says how files are compiled (nothing is);
#                 default /usr/local/cuda
#
# exit status: 0 done, 1 something failed (a message says what to do), 2 wrong usage.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)

fail() { printf 'pack: %s\n' "$*" >&2; exit 1; }
usage_error() { printf 'pack: %s\nsee %s --help\n' "$*" "$0" >&2; exit 2; }

out=${HOME:-/root}/.cache/sightline/gpu/pack
while [ $# -gt 0 ]; do
  case $1 in
    --out)
      [ -n "${2:-}" ] || usage_error "$1 needs a value"
      out=$2
      shift
      ;;
    -h | --help) sed -n '2,/^set /s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
    *) usage_error "unknown argument '$1'" ;;
  esac
  shift
done
out=$(realpath -m -- "$out")
if [ -d "$out" ] && [ -n "$(ls -A "$out")" ] && [ ! -e "$out/build.json" ]; then
  fail "$out is there and no pack; name another folder"
fi

"$root/deploy/bazel/setup.sh" || fail "the machine is not ready; the reason is above"
cd "$root"
# FOLDER/PROGRAM of bazel-bin.
programs=(services/router/router services/query_encoder/query_encoder
  services/index_search/index_search services/reranker/reranker
  services/sightlinectl/sightlinectl loadtest/loadtest loadtest/synthesize/synthesize
  services/corpus_encoder/corpus_encoder services/trainer/trainer
  tests/parity/check_golden tests/parity/check_training deploy/gpu/device_check deploy/gpu/stack_check
  deploy/gpu/faiss_check deploy/gpu/model_check)
# What of these includes LibTorch is read against another one, and not built.
others=(services/evaluator/evaluator)
targets=()
for program in "${programs[@]}" "${others[@]}"; do targets+=("//${program%/*}:${program##*/}"); done

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bazel aquery --config=cuda --output=jsonproto "deps(set(${targets[*]}))" >"$work/aquery.json" 2>"$work/log" ||
  { cat "$work/log" >&2; fail "Bazel's reason is above"; }
bazel query --output=xml 'kind(precompiled_header, //deploy/bazel:all)' >"$work/headers.xml" 2>"$work/log" ||
  { cat "$work/log" >&2; fail "Bazel's reason is above"; }
mapfile -t generated < <(/usr/bin/python3 -B "$here/pack.py" targets --aquery "$work/aquery.json")
bazel build --noshow_progress --config=cuda "${generated[@]}" >&2 || fail "the build failed; its messages are above"

revision=$(git rev-parse HEAD 2>/dev/null || echo unknown)
[ -z "$(git status --porcelain 2>/dev/null)" ] || revision+=-changed
/usr/bin/python3 -B "$here/pack.py" make --aquery "$work/aquery.json" --headers "$work/headers.xml" \
  --bin "$(bazel info --config=cuda bazel-bin 2>/dev/null)" \
  --faiss "$(bazel info output_base 2>/dev/null)/external/faiss" \
  --revision "$revision" --out "$out" "${others[@]/#/--read=}" "${programs[@]}"
