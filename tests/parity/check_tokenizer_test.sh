#!/bin/bash
# The checker agrees with all case files, and does not agree with damaged ones.
#
#   check_tokenizer_test.sh CHECKER FOLDER_OF_GOLDENS
set -u
checker=$1
goldens=$2
passed=0
failed=0

# expect CODE PATTERN ARGUMENTS...: the exit code, and a line of the output.
expect() {
  local code=$1 pattern=$2
  shift 2
  local output
  output=$("$checker" "$@" 2>&1)
  local got=$?
  if [ "$got" -eq "$code" ] && grep -q -- "$pattern" <<<"$output"; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    printf 'FAILED: %s\n  exit %s, expected %s and "%s"\n%s\n' "$*" "$got" "$code" "$pattern" "$output"
  fi
}

cased=(--kind wordpiece --vocab "$goldens/wordpiece_cased_vocab.txt")
uncased=(--kind wordpiece --vocab "$goldens/wordpiece_uncased_vocab.txt" --lower)
expect 0 '^mismatches: 0 of 708$' "${cased[@]}" "$goldens/wordpiece_cased.jsonl"
expect 0 '^mismatches: 0 of 708$' "${uncased[@]}" "$goldens/wordpiece_uncased.jsonl"
clip=(--kind clip_bpe --vocab "$goldens/clip_merges.txt.gz")
expect 0 '^mismatches: 0 of 708$' "${clip[@]}" "$goldens/clip_bpe.jsonl"

gzip -c "$goldens/wordpiece_cased_vocab.txt" >"$TEST_TMPDIR/vocab.txt.gz"
expect 0 '^mismatches: 0 of 708$' \
  --kind=wordpiece --vocab="$TEST_TMPDIR/vocab.txt.gz" "$goldens/wordpiece_cased.jsonl"

# Without --lower the uncased cases must differ.
expect 1 '^mismatches: [1-9][0-9]* of 708$' \
  --kind wordpiece --vocab "$goldens/wordpiece_uncased_vocab.txt" "$goldens/wordpiece_uncased.jsonl"

# One id, one token, one missing list, one broken line.
head -3 "$goldens/wordpiece_cased.jsonl" >"$TEST_TMPDIR/three.jsonl"
expect 0 '^mismatches: 0 of 3$' "${cased[@]}" "$TEST_TMPDIR/three.jsonl"
sed '3s/905\]/906]/' "$TEST_TMPDIR/three.jsonl" >"$TEST_TMPDIR/id.jsonl"
expect 1 '^mismatches: 1 of 3$' "${cased[@]}" "$TEST_TMPDIR/id.jsonl"
expect 1 'expected .*"dog".*906' "${cased[@]}" "$TEST_TMPDIR/id.jsonl"
sed '3s/\["A"/["B"/' "$TEST_TMPDIR/three.jsonl" >"$TEST_TMPDIR/token.jsonl"
expect 1 '^mismatches: 1 of 3$' "${cased[@]}" "$TEST_TMPDIR/token.jsonl"
head -9 "$goldens/clip_bpe.jsonl" | sed '9s/648, 326\]/648, 327]/' >"$TEST_TMPDIR/clip.jsonl"
expect 1 '^mismatches: 1 of 9$' "${clip[@]}" "$TEST_TMPDIR/clip.jsonl"
sed '3s/"ids"/"idx"/' "$TEST_TMPDIR/three.jsonl" >"$TEST_TMPDIR/missing.jsonl"
expect 1 '^mismatches: 1 of 3$' "${cased[@]}" "$TEST_TMPDIR/missing.jsonl"
sed '3s/..$//' "$TEST_TMPDIR/three.jsonl" >"$TEST_TMPDIR/broken.jsonl"
expect 1 '^mismatches: 1 of 3$' "${cased[@]}" "$TEST_TMPDIR/broken.jsonl"

: >"$TEST_TMPDIR/empty.jsonl"
expect 1 '^mismatches: 0 of 0$' "${cased[@]}" "$TEST_TMPDIR/empty.jsonl"
expect 2 'cannot open .*no_such_file' "${cased[@]}" "$TEST_TMPDIR/no_such_file"
expect 2 'NOT_FOUND: open .*no_such_vocab' \
  --kind wordpiece --vocab "$TEST_TMPDIR/no_such_vocab" "$TEST_TMPDIR/three.jsonl"
expect 2 'no heading' --kind clip_bpe --vocab "$TEST_TMPDIR/vocab.txt.gz" "$TEST_TMPDIR/three.jsonl"
expect 2 'piece 0 .*<unk>' --kind sentencepiece --vocab "$TEST_TMPDIR/empty.jsonl" "$TEST_TMPDIR/three.jsonl"
expect 2 'clip.*there are: wordpiece, clip_bpe, sentencepiece, word_list' \
  --kind clip --vocab "$TEST_TMPDIR/vocab.txt.gz" "$TEST_TMPDIR/three.jsonl"
expect 2 'one CASES.jsonl is needed' "${cased[@]}"

echo "cases: $passed passed, $failed failed"
[ "$failed" -eq 0 ]
