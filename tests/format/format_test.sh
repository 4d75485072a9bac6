#!/usr/bin/env bash
# Every C++ file is formatted as .clang-format says, and the check can see when one is not.
#
#   format_test.sh WORKSPACE      # a file in the root of the tree
#
# clang-format 14 of Debian 12 decides, because versions differ in their taste; a release
# without it leaves the check out and says so.  To mend what it finds: clang-format-14 -i FILE...
set -euo pipefail
format=clang-format-14
# The real tree, not the copies that Bazel laid out for this test.
cd "$(dirname "$(readlink -f "$1")")"
if ! command -v "$format" >/dev/null; then
  # shellcheck disable=SC1091
  release=$(. /etc/os-release && echo "${DEBIAN_CODENAME:-${VERSION_CODENAME:-}}")
  [ "$release" != bookworm ] || { echo "$format is missing; run deploy/bazel/setup.sh"; exit 1; }
  echo "LEFT OUT: $release has no $format; a run on Debian 12 checks the format"
  exit 0
fi

bad=$TEST_TMPDIR/bad.cc
printf 'int  main( ){return 0 ;}\n' >"$bad"
if "$format" --style=file:.clang-format --dry-run -Werror "$bad" 2>/dev/null; then
  echo "$format took a file that is not formatted"
  exit 1
fi

# What git tracks; whoever has the sources without git has all of them.  The tree may
# belong to another user than the one who tests.
list() {
  git -c safe.directory="$PWD" ls-files -z -- common services tests loadtest deploy/gpu 2>/dev/null ||
    find common services tests loadtest deploy/gpu -type f -print0
}
mapfile -d '' -t files < <(list | grep -zE '\.(h|cc|cu)$')
# A file that git tracks may be gone from the tree while somebody works on it.
present=()
for file in "${files[@]}"; do
  if [ -f "$file" ]; then present+=("$file"); fi
done
[ ${#present[@]} -gt 0 ] || { echo "no C++ files found below $PWD"; exit 1; }
printf '%s\0' "${present[@]}" |
  xargs -0 -n 50 -P 2 "$format" --style=file:.clang-format --dry-run -Werror
echo "${#present[@]} files are formatted"
