#!/usr/bin/env bash
# What build.sh refuses before it sets up or builds anything, and with which words.
#
# usage: build_test.sh BUILD.SH
set -uo pipefail
build=$1
passed=0 failed=0

# STATUS TEXT ENVIRONMENT... -- ARGUMENTS...
refuses() {
  local status=$1 text=$2 environment=() said got
  shift 2
  while [ "$1" != -- ]; do
    environment+=("$1")
    shift
  done
  said=$(env -u LIBTORCH_HOME -u CUDA_HOME "${environment[@]}" "$build" "${@:2}" 2>&1)
  got=$?
  if [ "$got" = "$status" ] && grep -qF -- "$text" <<<"$said"; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    printf 'wanted status %s and "%s", got %s and: %s\n' "$status" "$text" "$got" "$said"
  fi
}

plain=$TEST_TMPDIR/plain
half=$TEST_TMPDIR/half
mkdir -p "$plain/lib" "$half/lib"
touch "$plain/lib/libtorch_cpu.so" "$half/lib/libtorch_cuda.so"

refuses 2 "unknown argument 'sightline-gpu'" -- sightline-gpu
refuses 2 "--tree takes one variant" -- --tree "$TEST_TMPDIR/tree"
refuses 2 "--libraries needs a value" -- --libraries
refuses 2 "without LIBTORCH_HOME, which is $plain" "LIBTORCH_HOME=$plain" -- sightline
refuses 2 "sightline-cuda holds what sightline does" -- sightline sightline-cuda
refuses 1 "there is no $plain/bin/nvcc" "CUDA_HOME=$plain" -- sightline-cuda
# A CUDA_HOME that is set for others changes nothing.
refuses 2 "--libraries is for sightline-cuda, which is not built" "CUDA_HOME=$plain" -- --libraries "$plain"
refuses 1 "LIBTORCH_HOME=$plain is a LibTorch without CUDA (no lib/libtorch_cuda.so)" "LIBTORCH_HOME=$plain" --
refuses 1 "(no lib/libc10_cuda.so)" "LIBTORCH_HOME=$half" -- sightline-cuda
refuses 1 "LIBTORCH_HOME=/nowhere is a LibTorch without CUDA" LIBTORCH_HOME=/nowhere -- sightline-router

echo "cases: $passed passed, $failed failed"
[ "$failed" = 0 ]
