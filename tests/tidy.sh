#!/usr/bin/env bash
# clang-tidy over what changed, headers too, by the list of .clang-tidy; every finding is an error.
#
# usage: tests/tidy.sh [--all | --since COMMIT | FILE...]
#   --since COMMIT  files that differ from COMMIT.  Default: where HEAD left origin/main, or, if
#                   that is HEAD, the last commit that is four hours older than HEAD
#   --all           every file
#
# Without --all, files that name LibTorch are left out: each takes a minute.  Needs the
# generated code, so build first.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
tidy=clang-tidy-14
if ! command -v "$tidy" >/dev/null; then
  # Versions differ in what they find; Debian 13 does not have this one.
  grep -qs '^VERSION_CODENAME=bookworm' /etc/os-release ||
    { echo "tidy: left out, because $tidy is missing and comes with Debian 12 alone"; exit 0; }
  echo "tidy: $tidy is missing; run deploy/bazel/setup.sh tests/packages.txt" >&2
  exit 1
fi

since='' all='' files=()
while [ $# -gt 0 ]; do
  case $1 in
    --all) all=yes ;;
    --since)
      [ -n "${2:-}" ] || { echo "tidy: --since needs a commit" >&2; exit 1; }
      since=$2
      shift
      ;;
    -h | --help) sed -n '2,/^set /s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
    -*) echo "tidy: unknown argument '$1'" >&2; exit 1 ;;
    *) files+=("$1") ;;
  esac
  shift
done

base() {
  local earlier
  if git merge-base HEAD origin/main 2>/dev/null | grep -qv "$(git rev-parse HEAD)"; then
    git merge-base HEAD origin/main
  else
    earlier=$(($(git log -1 --format=%ct) - 14400))
    git rev-list -1 --before="$earlier" HEAD
  fi
}

choose() {
  if [ -n "$all" ]; then
    git ls-files -- common services loadtest tests
  else
    [ -n "$since" ] || since=$(base)
    # A tree younger than that has changed altogether.
    [ -n "$since" ] || since=$(git hash-object -t tree /dev/null)
    git diff --name-only --diff-filter=d "$since" -- common services loadtest tests
  fi | sources
}

# Files of .cc are read as they are, a header with the first that includes it.
sources() {
  local file
  while read -r file; do
    case $file in
      *.cc) echo "$file" ;;
      *.h) with "$file" ;;
    esac
  done | sort -u
}

with() {  # HEADER
  if [ -f "${1%.h}.cc" ]; then
    echo "${1%.h}.cc"
  else
    git grep -lF "#include \"$1\"" -- '*.cc' | xargs -r grep -LE '#include <(torch|ATen|c10)/' | head -n 1
  fi || true
}

[ ${#files[@]} -gt 0 ] || mapfile -t files < <(choose)
checked=()
for file in "${files[@]}"; do
  if [ -z "$all" ] && grep -qE '#include <(torch|ATen|c10)/' "$file"; then continue; fi
  # Of a package that only loadtest/baseline/ann_peers.sh installs.
  if [ ! -e /usr/include/hnswlib ] && grep -q '#include <hnswlib/' "$file"; then continue; fi
  checked+=("$file")
done
[ ${#checked[@]} -gt 0 ] || { echo "tidy: nothing has changed"; exit 0; }
bin=$(bazel info bazel-bin 2>/dev/null)
faiss=$(bazel info output_base 2>/dev/null)/external/faiss
# What kernels are compiled for, by the names of their files (common/kernels/BUILD.bazel).
instructions_of() {  # FILE
  case $1 in
    common/kernels/*avx512* | common/kernels/amx.cc)
      printf -- '--extra-arg=-m%s ' avx512{f,bw,dq,vl,vnni,bf16} amx-{tile,int8,bf16} ;;
    common/kernels/avx_vnni.cc) echo --extra-arg=-mavxvnni ;;
  esac
}
# Findings go to the standard output; how many there were in headers of others, elsewhere.
read_file() {  # FILE
  # shellcheck disable=SC2046
  "$tidy" --quiet --extra-arg=-std=c++17 --extra-arg=-march=x86-64-v3 $(instructions_of "$1") \
    --extra-arg=-I. --extra-arg="-I$bin" --extra-arg="-I$bin/protos" \
    --extra-arg=-isystem/usr/include/torch/csrc/api/include --extra-arg="-isystem$faiss" \
    "$1" 2>/dev/null
}
export -f instructions_of read_file
export tidy bin faiss
# shellcheck disable=SC2016
printf '%s\0' "${checked[@]}" | xargs -0 -n 1 -P "$(nproc)" bash -c 'read_file "$1"' _ ||
  { echo "tidy: findings are above; ${#checked[@]} files were read" >&2; exit 1; }
echo "tidy: ${#checked[@]} files, nothing found"
