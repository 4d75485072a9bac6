#!/usr/bin/env bash
# Builds what deploy/gpu/pack.sh has packed, against this machine's LibTorch and CUDA, and checks it:
# searches against the CPU's and a brute force, models against their goldens, a fleet under load.
# The machine needs this clone, a GCC, ninja, CUDA 12 or 13 with nvcc, Python 3.9 or later, and a
# LibTorch of the C++11 ABI; no Bazel, gRPC, Abseil or protobuf.
#
# usage: deploy/gpu/check.sh [--cpu-only] [--out FOLDER] [--minutes N] [--only PART]... PACK
#        deploy/gpu/check.sh --headers-only [--out FOLDER] [--minutes N] PACK
#   PACK            the folder that pack.sh made, or its archive
#   --cpu-only      without a GPU: all is compiled all the same, searches and models are the CPU's, and
#                   the fleet has a tenth of the items
#   --out FOLDER    where all is kept: objects, so that a build that was stopped goes on, and of each
#                   part what it printed and what it measured, as PART.txt and PART.json; default
#                   ~/.cache/sightline/gpu/check
#   --minutes N     how long a part may take; all together two and a half times as long; default 10
#   --only PART     build, search, models, table or fleet; repeatable; default: all, in this order.
#                   All but build take the programs as they are
#   --headers-only  instead of all that, reads the files that include LibTorch against its headers: of
#                   LIBTORCH_HOME, say, which then needs no libraries
#
# environment:
#   LIBTORCH_HOME   which LibTorch; default: of python3's torch, else Debian's
#   CUDA_HOME       which CUDA; default /usr/local/cuda, else that of the nvcc in the path
#
# exit status: 0 all held; 1 something did not, or failed; 2 wrong usage; 3 something is missing here,
# a GPU for one; 75 a part was stopped at its limit: run it again, and a build goes on.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

fail() { printf 'check: %s\n' "$*" >&2; exit 1; }
usage_error() { printf 'check: %s\nsee %s --help\n' "$*" "$0" >&2; exit 2; }

readonly all=(build search models table fleet)
out=${HOME:-/root}/.cache/sightline/gpu/check pack='' minutes=10 parts=() cpu_only=() headers_only=()
while [ $# -gt 0 ]; do
  case $1 in
    --cpu-only) cpu_only=(--cpu-only) ;;
    --headers-only) headers_only=(--headers-only) ;;
    --out | --minutes | --only)
      [ -n "${2:-}" ] || usage_error "$1 needs a value"
      case $1 in
        --out) out=$2 ;;
        --minutes)
          [[ $2 =~ ^[1-9][0-9]{0,3}$ ]] || usage_error "--minutes is '$2'; it is a number from 1 to 9999"
          minutes=$2
          ;;
        --only)
          [[ " ${all[*]} " = *" $2 "* ]] || usage_error "there is no part '$2'; there are: ${all[*]}"
          parts+=("$2")
          ;;
      esac
      shift
      ;;
    -h | --help) sed -n '2,/^set /s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
    -*) usage_error "unknown argument '$1'" ;;
    *)
      [ -z "$pack" ] || usage_error "one pack at a time, not '$pack' and '$1'"
      pack=$1
      ;;
  esac
  shift
done
[ -n "$pack" ] || usage_error "name the pack that deploy/gpu/pack.sh made"
[ ${#headers_only[@]} = 0 ] || [ ${#parts[@]} = 0 ] || usage_error "--headers-only has no parts"
[ ${#headers_only[@]} = 0 ] || parts=(build)
[ ${#parts[@]} -gt 0 ] || parts=("${all[@]}")
[ -e "$pack" ] || fail "there is no $pack; make it with deploy/gpu/pack.sh where there is Bazel"
command -v python3 >/dev/null || { echo "check: python3 is missing; install Python 3.9 or later" >&2; exit 3; }
out=$(realpath -m -- "$out") pack=$(realpath -- "$pack")
for path in "$here" "$out" "$pack"; do
  case $path in *[[:space:]\$:\'\"]*) fail "ninja cannot have '$path': use paths without spaces, quotes, colons and dollars" ;; esac
done
# Others' headers and flags would come before the pack's; and the first GPU is CUDA's first.
unset CPATH C_INCLUDE_PATH CPLUS_INCLUDE_PATH LIBRARY_PATH NVCC_PREPEND_FLAGS NVCC_APPEND_FLAGS
export CUDA_DEVICE_ORDER=PCI_BUS_ID
mkdir -p "$out"

# What is unpacked is known to be whole by the archive's checksum beside it.
if [ -f "$pack" ]; then
  unpacked=$out/pack
  if [ "$(cat "$out/pack.of" 2>/dev/null)" != "$(sha256sum <"$pack")" ]; then
    rm -rf "$out/pack.of" "$unpacked"
    python3 -c 'import sys, tarfile; tarfile.open(sys.argv[1]).extractall(sys.argv[2])' "$pack" "$out" ||
      fail "$pack is no archive of pack.sh"
    sha256sum <"$pack" >"$out/pack.of"
  fi
  pack=$unpacked
fi
[ -e "$pack/build.json" ] || fail "$pack has no build.json: it is no folder of pack.sh"

python3 -B "$here/tools.py" --pack "$pack" --out "$out/tools.json" "${cpu_only[@]}" "${headers_only[@]}" || exit $?
python3 -B "$here/ninja.py" --pack "$pack" --tools "$out/tools.json" --build "$out/build" "${headers_only[@]}" || exit $?

command_of() {  # PART; into `command`
  if [ "$1" = build ]; then
    command=(ninja -C "$out/build" -k 20)
  else
    command=(python3 -B "$here/parts.py" "$1" --bin "$out/build/bin" --out "$out" "${cpu_only[@]}")
  fi
}

# An interrupt ends what runs, which timeout has put into a process group of its own.
child=''
trap '[ -z "$child" ] || kill -TERM "$child" 2>/dev/null; exit 130' INT TERM
within() {  # SECONDS COMMAND...
  timeout -k 10 "$@" &
  child=$!
  local status=0
  wait "$child" || status=$?
  child=''
  return "$status"
}

# The first that does not hold does not keep others from being looked at, but nothing goes without
# programs.
readonly began=$SECONDS
result=0 lines=() json=()
for part in "${parts[@]}"; do
  left=$((minutes * 150 - (SECONDS - began))) limit=$((minutes * 60))
  [ "$limit" -le "$left" ] || limit=$left
  printf '== %s\n' "$part"
  start=$SECONDS status=75
  if [ "$limit" -gt 0 ]; then
    command_of "$part"
    status=0
    if [ "$part" = build ]; then
      within "$limit" "${command[@]}" > >(tee "$out/build.txt") 2>&1 || status=$?
    else
      within "$limit" "${command[@]}" || status=$?
    fi
  fi
  case $status in
    0) word=held ;;
    75 | 124 | 137) word="stopped at its limit; run it again" status=75 ;;
    *) word="DID NOT HOLD" status=1 ;;
  esac
  lines+=("$(printf '%-7s %5d s  %s' "$part" $((SECONDS - start)) "$word")")
  json+=("{\"part\": \"$part\", \"seconds\": $((SECONDS - start)), \"status\": $status}")
  [ "$result" = 1 ] || [ "$status" = 0 ] || result=$status
  if [ "$part" = build ] && [ "$status" != 0 ]; then break; fi
done
printf '== all\n'
printf '%s\n' "${lines[@]}" | tee "$out/summary.txt"
(IFS=,; printf '[%s]\n' "${json[*]}" >"$out/summary.json")
printf 'kept in %s\n' "$out"
exit "$result"
