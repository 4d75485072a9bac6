#!/usr/bin/env bash
# What loadtest/short.sh makes of its scenarios' verdicts.  Programs are fakes: no fleet runs.
#
#   short_test.sh SHORT_SH
set -uo pipefail
script=$PWD/$1
passed=0 failed=0

# A tree in which loadtest/run.sh ends as $T/verdict.SCENARIO says, or with 0.
new_tree() {
  T=$(mktemp -d "$TEST_TMPDIR/tree.XXXXXX")
  mkdir -p "$T/loadtest" "$T/deploy/demo/model" "$T/state/store/indexes/images/generations/"{a,b}
  echo '{}' >"$T/deploy/demo/model/manifest.json"
  cp "$script" "$T/loadtest/short.sh"
  printf '#!/usr/bin/env bash\n' >"$T/deploy/demo/run.sh"
  cat >"$T/loadtest/run.sh" <<'END'
#!/usr/bin/env bash
root=$(dirname "${BASH_SOURCE[0]}")/..
echo "$1" >>"$root/ran"
case $(cat "$root/verdict.$1" 2>/dev/null) in
  fails) echo "FAIL  $1"; exit 1 ;;
  late_once) echo >"$root/verdict.$1"; printf 'INCONCLUSIVE  %s\n' "$1"; exit 3 ;;
  late_and_fails) printf 'INCONCLUSIVE  %s\n\n  failed requests  at most 0%%  2%%  broken\n' "$1"; exit 3 ;;
  late) printf 'INCONCLUSIVE  %s\n  in doubt: the generator was late\n' "$1"; exit 3 ;;
  few) printf 'INCONCLUSIVE  %s\n\n  latency p99   at most 1s  fewer than 10 lie beyond it  not measurable\n' "$1"; exit 3 ;;
esac
echo "PASS  $1"
END
  chmod +x "$T/deploy/demo/run.sh" "$T/loadtest/run.sh"
  for generation in a b; do
    echo "{\"kind\": \"hnsw\", \"model\": \"$(echo '{}' | sha256sum | cut -d' ' -f1)\"}" >"$T/state/store/indexes/images/generations/$generation/manifest.json"
  done
}

# Programs that make the second generation where there is none; the encoder takes what the real one
# takes: a configuration, and then nothing else.
forget_second_generation() {
  rm "$T"/state/store/indexes/images/generations/*/manifest.json
  mkdir -p "$T/path" "$T/bin/services/sightlinectl" "$T/bin/services/corpus_encoder"
  printf '#!/usr/bin/env bash\necho "%s/bin"\n' "$T" >"$T/path/bazel"
  printf '#!/usr/bin/env bash\nbasename "$2"\n' >"$T/bin/services/sightlinectl/sightlinectl"
  cat >"$T/bin/services/corpus_encoder/corpus_encoder" <<'END'
#!/usr/bin/env bash
[ "$#" = 2 ] && [ "$1" = --config ] || { echo 'wrong usage'; exit 2; }
cp "$2" "$(dirname "$0")/encoded"
END
  chmod +x "$T/path/bazel" "$T"/bin/services/*/*
  PATH=$T/path:$PATH
}

die() { echo "  $*"; sed 's/^/  | /' "$T/out" 2>/dev/null; exit 1; }

# STATUS SCENARIO...: short.sh ends with that status; $T/out has what it said.
ends() {
  local want=$1 got=0
  shift
  "$T/loadtest/short.sh" --state "$T/state" "$@" >"$T/out" 2>&1 || got=$?
  [ "$got" = "$want" ] || die "ended with $got, not $want"
}

says() { grep -qF -- "$1" "$T/out" || die "did not say '$1'"; }

all_hold() {
  ends 0
  says 'PASS  short_swap'
  says 'scenarios: 5 passed, 0 failed, 0 could not be told'
}

a_second_generation_behind_a_graph_is_made() {
  forget_second_generation
  ends 0 a
  grep -q 'kind: hnsw' "$T/bin/services/corpus_encoder/encoded" || die 'it is another index'
  grep -q 'model: model' "$T/bin/services/corpus_encoder/encoded" || die 'it has no model'
}

generations_of_another_model_go_and_those_of_the_demos_stay() {
  touch "$T/state/store/kept"
  ends 0 a
  [ -e "$T/state/store/kept" ] || die 'the store is gone'
  forget_second_generation
  echo '{"kind": "hnsw", "model": "another"}' >"$T/state/store/indexes/images/generations/b/manifest.json"
  ends 0 a
  [ ! -e "$T/state/store/kept" ] || die 'the store is there still'
}

without_a_second_generation_nothing_runs() {
  forget_second_generation
  printf '#!/usr/bin/env bash\necho no disk; exit 1\n' >"$T/bin/services/corpus_encoder/corpus_encoder"
  ends 1 a
  says 'no disk'
  says 'could not be made'
  [ ! -e "$T/ran" ] || die "ran $(cat "$T/ran")"
}

one_fails_and_the_others_run_all_the_same() {
  echo fails >"$T/verdict.a"
  ends 1 a b
  says 'short: a did not hold'
  says 'scenarios: 1 passed, 1 failed, 0 could not be told'
}

doubt_is_no_failure_and_its_reason_is_told() {
  echo late >"$T/verdict.a"
  ends 3 a b
  says 'of a it could not be told whether it holds'
  says 'short: the generator was late'
  says 'scenarios: 1 passed, 0 failed, 1 could not be told'
}

doubt_is_given_one_more_try() {
  echo late_once >"$T/verdict.a"
  ends 0 a b
  says 'scenarios: 2 passed, 0 failed, 0 could not be told'
  [ "$(tr '\n' ' ' <"$T/ran")" = "a a b " ] || die "ran $(cat "$T/ran")"
}

failed_requests_are_failures_in_doubt_too() {
  echo late_and_fails >"$T/verdict.a"
  ends 1 a b
  says 'scenarios: 1 passed, 1 failed, 0 could not be told'
}

what_cannot_be_measured_is_told() {
  echo few >"$T/verdict.a"
  ends 3 a
  says 'short: not measurable: latency p99   at most 1s  fewer than 10 lie beyond it'
}

failure_counts_before_doubt() {
  echo late >"$T/verdict.a"
  echo fails >"$T/verdict.b"
  ends 1 a b c
  says 'scenarios: 1 passed, 1 failed, 1 could not be told'
}

for case in all_hold a_second_generation_behind_a_graph_is_made \
  generations_of_another_model_go_and_those_of_the_demos_stay \
  without_a_second_generation_nothing_runs one_fails_and_the_others_run_all_the_same \
  doubt_is_no_failure_and_its_reason_is_told doubt_is_given_one_more_try \
  failed_requests_are_failures_in_doubt_too what_cannot_be_measured_is_told \
  failure_counts_before_doubt; do
  if (new_tree && "$case"); then
    passed=$((passed + 1))
  else
    echo "FAILED: $case"
    failed=$((failed + 1))
  fi
done
echo "cases: $passed passed, $failed failed"
[ "$failed" = 0 ]
