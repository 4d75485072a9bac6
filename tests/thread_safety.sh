#!/usr/bin/env bash
# clang's thread-safety analysis of everything that holds a lock, by the annotations of
# common/base/thread_annotations.h; every finding is an error.
#
# usage: tests/thread_safety.sh [FILE...]
#   FILE  these .cc files alone.  Default: each that names a lock or whose header does; beside
#         such a header all files of its folder that include it, for one of a class may lie in
#         several, and for a header without a .cc file all that include it
#
# Any clang will do; gcc knows nothing of it.  Needs what the build generates, so build first.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
case ${1:-} in
  -h | --help) sed -n '2,/^set /s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
  -*) echo "thread_safety: unknown argument '$1'" >&2; exit 1 ;;
esac
command -v clang++ >/dev/null ||
  { echo "thread_safety: clang++ is missing; run deploy/bazel/setup.sh tests/packages.txt" >&2; exit 1; }

bin=$(bazel info bazel-bin 2>/dev/null)
# Other warnings are gcc's business, which builds all of this.
export clang="clang++ -fsyntax-only -std=c++17 -march=x86-64-v3 -Wno-everything
  -Werror=thread-safety -I. -I$bin -I$bin/protos -isystem/usr/include/torch/csrc/api/include"

# Files that name a lock, and what is compiled of the headers among them.
choose() {
  local file queue=()
  local -A seen=()
  mapfile -t queue < <(git grep --untracked -lwE 'Mutex|MutexLock|ReleasableMutexLock|CondVar' -- \
    '*.cc' '*.h' ':!common/base/mutex.h')
  while [ ${#queue[@]} -gt 0 ]; do
    file=${queue[0]} queue=("${queue[@]:1}")
    [ -z "${seen[$file]:-}" ] || continue
    seen[$file]=yes
    case $file in
      *.cc) echo "$file" ;;
      *)
        local where=("*.cc" "*.h")
        if [ -f "${file%.h}.cc" ]; then where=("${file%/*}/*.cc"); fi
        mapfile -t -O ${#queue[@]} queue < <(git grep --untracked -lF "#include \"$file\"" -- "${where[@]}")
        ;;
    esac
  done
}

files=("$@")
[ ${#files[@]} -gt 0 ] || mapfile -t files < <(choose)
[ ${#files[@]} -gt 0 ] || { echo "thread_safety: no file holds a lock" >&2; exit 1; }

# An analysis that sees nothing wrong here sees nothing anywhere.
offends() {  # STATEMENTS: refused in a function that holds no lock
  local words
  if words=$($clang -x c++ - 2>&1 <<<"#include \"common/base/mutex.h\"
    using namespace sightline;
    struct Account { Mutex mutex; int sum GUARDED_BY(mutex) = 0; void Add() REQUIRES(mutex); };
    void Use(Account& account) { $1 }"); then
    echo "thread_safety: $clang does not notice: $1" >&2
    exit 1
  fi
  grep -q thread-safety <<<"$words" || { printf '%s\n' "$words" >&2; exit 1; }
}
offends 'account.sum = 1;'
offends 'account.Add();'
offends 'ReleasableMutexLock lock(account.mutex); lock.Unlock(); account.Add();'
offends 'CondVar changed; changed.Wait(account.mutex);'
offends 'account.mutex.Lock();'

# shellcheck disable=SC2016  # $clang is for the shell that xargs starts
printf '%s\0' "${files[@]}" | xargs -0 -n 1 -P "$(nproc)" bash -c '$clang "$1" || exit 1' - ||
  { echo "thread_safety: findings are above; ${#files[@]} files were read" >&2; exit 1; }
echo "thread_safety: ${#files[@]} files, nothing found"
