#!/usr/bin/env bash
# What check.sh, pack.sh and against_libtorch.sh refuse before they do anything, and with which words.
#
# usage: scripts_test.sh CHECK.SH PACK.SH AGAINST_LIBTORCH.SH
set -uo pipefail
check=$1 pack=$2 against=$3
passed=0 failed=0

refuses() {  # STATUS TEXT SCRIPT ARGUMENTS...
  local status=$1 text=$2 said got
  said=$("${@:3}" 2>&1)
  got=$?
  if [ "$got" = "$status" ] && grep -qF -- "$text" <<<"$said"; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    printf 'wanted status %s and "%s", got %s and: %s\n' "$status" "$text" "$got" "$said"
  fi
}

mkdir -p "$TEST_TMPDIR/plain"
echo text >"$TEST_TMPDIR/plain/file"

refuses 0 "usage: deploy/gpu/check.sh" "$check" --help
refuses 2 "name the pack" "$check"
refuses 2 "there is no part 'speed'; there are: build search" "$check" --only speed pack
refuses 2 "there is no part 'search faiss'" "$check" --only "search faiss" pack
refuses 2 "write '--only search', not '--only=search'" "$check" --only=search pack
refuses 2 "--out needs a value" "$check" --out --cpu-only pack
refuses 2 "--minutes is 'ten'" "$check" --minutes ten pack
refuses 2 "one pack at a time, not 'one' and 'two'" "$check" one two
refuses 2 "unknown argument '--gpu'" "$check" --gpu pack
refuses 2 "--headers-only has no parts" "$check" --headers-only --only build pack
refuses 1 "there is no $TEST_TMPDIR/nowhere; make it with" "$check" "$TEST_TMPDIR/nowhere"
for character in '&' ';' '|' '(' '#' '*' '?' '<' '>' '`' '!' ' ' "'" '"' '$' ':'; do
  refuses 1 "a${character}b' has a ${character@Q}, which ninja or a shell would read" "$check" --out "$TEST_TMPDIR/a${character}b" "$TEST_TMPDIR/plain"
done
refuses 1 "$TEST_TMPDIR/plain is there and not check.sh's" "$check" --out "$TEST_TMPDIR/plain" "$TEST_TMPDIR/plain"
refuses 1 "$TEST_TMPDIR/plain/file is no folder" "$check" --out "$TEST_TMPDIR/plain/file" "$TEST_TMPDIR/plain"
refuses 1 "has no build.json" "$check" --out "$TEST_TMPDIR/out" "$TEST_TMPDIR/plain"
refuses 1 "is no archive of pack.sh" "$check" --out "$TEST_TMPDIR/out" "$TEST_TMPDIR/plain/file"
refuses 0 "usage: deploy/gpu/pack.sh" "$pack" --help
refuses 2 "--out needs a value" "$pack" --out
refuses 1 "$TEST_TMPDIR/plain is there and no pack" "$pack" --out "$TEST_TMPDIR/plain"
refuses 0 "usage: deploy/gpu/against_libtorch.sh" "$against" --help
refuses 2 "--release is '13'" "$against" --release 13

echo "cases: $passed passed, $failed failed"
[ "$failed" = 0 ]
