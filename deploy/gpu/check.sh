#!/usr/bin/env bash
# Builds what deploy/gpu/pack.sh has packed, against this machine's LibTorch and CUDA, and checks it:
# searches against the CPU's and a brute force, models against their goldens, a fleet under load,
# a corpus that is encoded, training in bfloat16 against training in float32, by papers' recipes too.
# The machine needs this clone, a GCC, ninja, CUDA 12 or 13 with nvcc, Python 3.9 or later, and a
# LibTorch of the C++11 ABI; no Bazel, gRPC, Abseil or protobuf.
#
# usage: deploy/gpu/check.sh [--cpu-only] [--out FOLDER] [--minutes N] [--only PART]... PACK
#        deploy/gpu/check.sh --headers-only [--out FOLDER] [--minutes N] PACK
#   PACK            the folder that pack.sh made, or its archive
#   --cpu-only      without a GPU: all is compiled all the same, searches and models are the CPU's, and
#                   fleet, corpus and training are small
#   --out FOLDER    where all is kept: objects, so that a build that was stopped goes on, and of each
#                   part what it printed and what it measured, as PART.txt and PART.json; new, empty, or
#                   check.sh's own (it has kept_by_check), and one check.sh's at a time (lock); default
#                   ~/.cache/sightline/gpu/check
#   --minutes N     how long a part may take; all together two and a half times as long, and table is
#                   told even then; default 10
#   --only PART     build, search, faiss, models, eager, fleet, sanitizer, encode, train, learn or
#                   table; repeatable; default: all; always in this order.  All but build take the
#                   programs as they are, and begin anew; table judges what is in FOLDER, of earlier runs
#                   as well
#   --headers-only  instead of all that, reads the files that include LibTorch against its headers: of
#                   LIBTORCH_HOME, say, which then needs no libraries
#
# environment:
#   LIBTORCH_HOME   which LibTorch; default: of python3's torch, else Debian's
#   CUDA_HOME       which CUDA; default /usr/local/cuda, else that of the nvcc in the path
#
# exit status: 0 all held; 1 something did not, or failed; else 75 a part was stopped at its limit (run
# it again, and a build goes on); else 3 something is missing here, a GPU for one; 2 wrong usage; 130
# interrupted.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

fail() { printf 'check: %s\n' "$*" >&2; exit 1; }
usage_error() { printf 'check: %s\nsee %s --help\n' "$*" "$0" >&2; exit 2; }
# WORD WORDS...: whether it is one of them
is_among() {
  local word
  for word in "${@:2}"; do [ "$word" != "$1" ] || return 0; done
  return 1
}

readonly all=(build search faiss models eager fleet sanitizer encode train learn table)
out=${HOME:-/root}/.cache/sightline/gpu/check pack='' minutes=10 only=() cpu_only=() headers_only=()
while [ $# -gt 0 ]; do
  case $1 in
    --cpu-only) cpu_only=(--cpu-only) ;;
    --headers-only) headers_only=(--headers-only) ;;
    --out | --minutes | --only)
      [[ ${2:--} != -* ]] || usage_error "$1 needs a value"
      case $1 in
        --out) out=$2 ;;
        --minutes)
          [[ $2 =~ ^[1-9][0-9]{0,3}$ ]] || usage_error "--minutes is '$2'; it is a number from 1 to 9999"
          minutes=$2
          ;;
        --only)
          is_among "$2" "${all[@]}" || usage_error "there is no part '$2'; there are: ${all[*]}"
          only+=("$2")
          ;;
      esac
      shift
      ;;
    -h | --help) sed -n '2,/^set /s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
    --out=* | --minutes=* | --only=*) usage_error "write '${1%%=*} ${1#*=}', not '$1'" ;;
    -*) usage_error "unknown argument '$1'" ;;
    *)
      [ -z "$pack" ] || usage_error "one pack at a time, not '$pack' and '$1'"
      pack=$1
      ;;
  esac
  shift
done
[ -n "$pack" ] || usage_error "name the pack that deploy/gpu/pack.sh made"
[ ${#headers_only[@]} = 0 ] || [ ${#only[@]} = 0 ] || usage_error "--headers-only has no parts"
[ ${#headers_only[@]} = 0 ] || only=(build)
[ ${#only[@]} -gt 0 ] || only=("${all[@]}")
parts=()
for part in "${all[@]}"; do
  ! is_among "$part" "${only[@]}" || parts+=("$part")
done
[ -e "$pack" ] || fail "there is no $pack; make it with deploy/gpu/pack.sh where there is Bazel"
for program in python3:"Python 3.9 or later" flock:util-linux; do
  command -v "${program%%:*}" >/dev/null ||
    { echo "check: ${program%%:*} is missing; install ${program#*:}" >&2; exit 3; }
done
given=$pack out=$(realpath -m -- "$out") pack=$(realpath -- "$pack")
for path in "$here" "$out" "$pack"; do
  strange=${path//[A-Za-z0-9_.\/+@,=-]/} first=${strange:0:1}
  [ -z "$first" ] ||
    fail "'$path' has a ${first@Q}, which ninja or a shell would read: use paths of letters, digits and _ . / + @ , = -"
done
# Others' headers and flags would come before the pack's; and the first GPU is CUDA's first.
unset CPATH C_INCLUDE_PATH CPLUS_INCLUDE_PATH LIBRARY_PATH NVCC_PREPEND_FLAGS NVCC_APPEND_FLAGS
export CUDA_DEVICE_ORDER=PCI_BUS_ID

# Much in the folder is deleted, so it has to be ours; and everything that is started holds its lock, also
# where this script was killed.
[ ! -e "$out" ] || [ -d "$out" ] || fail "$out is no folder; name another with --out"
[ -e "$out/kept_by_check" ] || [ -z "$(ls -A "$out" 2>/dev/null)" ] ||
  fail "$out is there and not check.sh's (it has no kept_by_check); name a new or empty folder with --out"
{ mkdir -p "$out" && touch "$out/kept_by_check" && exec 9>>"$out/lock"; } || fail "$out cannot be written to"
flock -n 9 || fail "another check.sh uses $out (see $out/lock): PID $(cat "$out/lock"), or what it has left running"
echo $$ >"$out/lock"
rm -f "$out/summary.txt" "$out/summary.json"

lines=() json=()
note() {  # PART SECONDS STATUS WORDS; into the summary
  lines+=("$(printf '%-9s %5d s  %s' "$1" "$2" "$4")")
  json+=("{\"part\": \"$1\", \"seconds\": $2, \"status\": $3}")
  printf '%s\n' "${lines[@]}" >"$out/summary.txt"
  (IFS=,; printf '[%s]\n' "${json[*]}" >"$out/summary.json")
}

# Of an interrupt or a lost connection.  What runs has a process group of its own, which timeout ends.
child='' part='' start=0
# shellcheck disable=SC2317  # trap calls it
interrupted() {
  trap '' HUP INT TERM
  set +e
  echo "check: interrupted${part:+ in part $part}" >&2
  [ -z "$child" ] || { kill -TERM "$child"; wait "$child"; } 2>/dev/null
  [ -z "$part" ] || note "$part" $((SECONDS - start)) 130 interrupted
  exit 130
}
trap interrupted HUP INT TERM
within() {  # SECONDS COMMAND...
  timeout -k 10 "$@" &
  child=$!
  local status=0
  wait "$child" || status=$?
  child=''
  return "$status"
}

# What is unpacked is known to be whole by the archive's checksum beside it.
if [ -f "$pack" ]; then
  unpacked=$out/pack sum=$(sha256sum <"$pack")
  if [ ! -e "$unpacked/build.json" ] || [ "$(cat "$out/pack.of" 2>/dev/null)" != "$sum" ]; then
    rm -f "$out/pack.of"
    python3 -I -B "$here/unpack.py" "$given" "$unpacked" || exit $?
    echo "$sum" >"$out/pack.of"
  fi
  pack=$unpacked
fi
[ -e "$pack/build.json" ] || fail "$given has no build.json: it is no folder of pack.sh"
of_pack=$(sed -n 's/^ "revision": "\([^"]*\)".*/\1/p' "$pack/build.json")
of_clone=$(git -C "$here" rev-parse HEAD 2>/dev/null) || of_clone='no revision that git knows'
echo "the pack is of ${of_pack:=unknown}, this clone of $of_clone"
[[ $of_clone = *' '* ]] || [ "${of_pack%-changed}" = "$of_clone" ] ||
  echo "check: warning: pack and clone differ; what was changed between them may not compile: make the pack of this clone" >&2

python3 -B "$here/tools.py" --pack "$pack" --out "$out/tools.json" "${cpu_only[@]}" "${headers_only[@]}" || exit $?
python3 -B "$here/ninja.py" --pack "$pack" --tools "$out/tools.json" --build "$out/build" \
  "${cpu_only[@]}" "${headers_only[@]}" || exit $?

run_part() {  # PART SECONDS
  if [ "$1" = build ]; then
    within "$2" ninja -C "$out/build" -k 20 > >(exec 9>&-; exec tee -i "$out/build.txt") 2>&1
  else
    within "$2" python3 -B "$here/parts.py" "$1" --bin "$out/build/bin" --out "$out" "${cpu_only[@]}"
  fi
}

# The first that does not hold does not keep others from being looked at, but nothing goes without
# programs; and what was measured is told, however late it is.
readonly began=$SECONDS
result=0
for part in "${parts[@]}"; do
  left=$((minutes * 150 - (SECONDS - began))) limit=$((minutes * 60))
  [ "$limit" -le "$left" ] || limit=$left
  [ "$part" != table ] || [ "$limit" -ge 60 ] || limit=60
  start=$SECONDS status=0
  printf '== %s\n' "$part"
  # An earlier run's is not this one's, even if the part does not begin.
  rm -f "$out/$part.json"
  if [ "$limit" -gt 0 ]; then run_part "$part" "$limit" || status=$?; else status=late; fi
  # Of timeout; 137 may be someone else's kill.
  [ "$status" != 137 ] || [ $((SECONDS - start)) -lt "$limit" ] || status=124
  case $status,$part in
    0,*) word=held ;;
    3,*) word="something is missing, which is named above" ;;
    late,*) word="not begun in all of $((minutes * 150 / 60)) minutes; raise --minutes, or go on with --only $part" status=75 ;;
    124,build) word="stopped at its limit; run it again, and it goes on" status=75 ;;
    124,*) word="stopped at its limit; raise --minutes, or begin it anew with --only $part" status=75 ;;
    137,*) word="DID NOT HOLD: killed, which was no limit of check.sh; out of memory?" status=1 ;;
    *) word="DID NOT HOLD" status=1 ;;
  esac
  note "$part" $((SECONDS - start)) "$status" "$word"
  # Something wrong outweighs a limit, and a limit what is missing.
  case $status,$result in 1,* | 75,[03] | 3,0) result=$status ;; esac
  if [ "$part" = build ] && [ "$status" != 0 ]; then break; fi
done
part=''
printf '== all\n'
cat "$out/summary.txt"
printf 'kept in %s\n' "$out"
exit "$result"
