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
  mkdir -p "$T/loadtest" "$T/deploy/demo" "$T/state/store/indexes/images/generations/"{a,b}
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

for case in all_hold one_fails_and_the_others_run_all_the_same \
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
