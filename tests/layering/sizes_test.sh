#!/usr/bin/env bash
# A clone weighs no more than it may, and the check that says so can see when it does.
set -euo pipefail
check=$1
# The real tree, not the copies that Bazel laid out for this test.
root=$(dirname "$(readlink -f "$2")")
python3 "$check" "$root"

# Files without contents on the disk, in no clone of anything.
tree=$(mktemp -d "$TEST_TMPDIR/tree.XXXX")
export GIT_CEILING_DIRECTORIES=$TEST_TMPDIR
refused() {  # WHAT PATH BYTES
  mkdir -p "$tree/$(dirname "$2")"
  truncate -s "$3" "$tree/$2"
  if python3 "$check" "$tree" >"$tree/../told"; then echo "not noticed: $2"; exit 1; fi
  grep -q "^$1 has $3 bytes" "$tree/../told"
  grep -q "$2\$" "$tree/../told"
  rm "$tree/$2"
}
truncate -s 6000000 "$tree/source"
mkdir -p "$tree/tests/testdata"
truncate -s 40000000 "$tree/tests/testdata/golden.safetensors"
python3 "$check" "$tree"
rm "$tree/tests/testdata/golden.safetensors" "$tree/source"
refused "the tree" some/source.cc 46000001
refused "what models have learnt" deploy/model/weights.safetensors 34000001

# Of a clone git's files alone are counted; of one that git cannot read, all but git's own.
mkdir "$tree/.git"
truncate -s 99000000 "$tree/.git/objects"
truncate -s 7 "$tree/source"
python3 "$check" "$tree" 2>"$tree/../told" | grep -q '^1 files, 7 bytes'
grep -q "^everything in $tree is counted" "$tree/../told"
rm "$tree/source"
if command -v git >/dev/null; then
  rm -r "$tree/.git"
  git init -q "$tree"
  truncate -s 99000000 "$tree/build_output"
  python3 "$check" "$tree" | grep -q '^0 files'
fi
