#!/usr/bin/env bash
# What loadtest/figures/run.py takes out of what commands print and write, and what it keeps.
#
#   run_test.sh RUN_PY FIGURES_JSON
# shellcheck disable=SC2016  # $OUT is for the commands that it starts
set -uo pipefail
script=$PWD/$1 figures=$PWD/$2
passed=0 failed=0

# A tree of its own, in which git and the load are fakes.
new_tree() {
  T=$(mktemp -d "$TEST_TMPDIR/tree.XXXXXX")
  mkdir -p "$T/loadtest/figures" "$T/fakes"
  cp "$script" "$T/loadtest/figures/run.py"
  cat >"$T/fakes/git" <<END
#!/bin/sh
case "\$*" in *status*) cat "$T/changed" 2>/dev/null ;; *rev-parse*) echo 1a2b3c4 ;; esac
END
  chmod +x "$T/fakes/git"
  export PATH=$T/fakes:/usr/bin:/bin
  cat >"$T/loadtest/figures/figures.json" <<'END'
{
 "written": {"command": "echo '{\"runs\": [{\"name\": \"a\", \"ns\": 1}, {\"name\": \"b\", \"ns\": 2500000}]}' >\"$OUT/r.json\"",
  "class": "quick", "minutes": 1, "readmes": [], "commit": "0000000", "cpu": "an abacus", "date": "2026-01-01",
  "figures": {"b": {"value": "2.0", "unit": "ms", "in": "r.json", "at": ["runs", "name=b", "ns"], "scale": 1e-6}}},
 "printed": {"command": "echo 'took 84.26 us' >&2; pwd", "class": "long", "minutes": 9,
  "readmes": [], "commit": "0000000", "cpu": "an abacus", "date": "2026-01-01",
  "figures": {"took": {"value": "81 to 83", "unit": "us", "regex": "took ([0-9.]+) us"}}}
}
END
}

die() { echo "  $*"; sed 's/^/  | /' "$T/out" 2>/dev/null; exit 1; }

# STATUS ARGUMENTS...: run.py ends with that status; $T/out has what it said.
ends() {
  local want=$1 got=0
  shift
  python3 "$T/loadtest/figures/run.py" "$@" >"$T/out" 2>&1 || got=$?
  [ "$got" = "$want" ] || die "ended with $got, not $want"
}

says() { grep -qE -- "$1" "$T/out" || die "did not say '$1'"; }

# A machine at rest, whatever this one does.
at_rest() { sed -i 's/os.getloadavg()\[0\]/0/' "$T/loadtest/figures/run.py"; }

quick_ones_are_taken_without_names() {
  ends 0
  says '^  b  +2.0 +2.5 ms +1.25$'
  says 'figures: 1 measurements taken, 0 could not be'
  ! grep -q printed "$T/out" || die "ran a long one"
}

a_range_is_compared_by_its_middle() {
  ends 0 printed
  says '^  took +81 to 83 +84.3 us +1.03$'
}

all_are_taken_if_asked() {
  ends 0 --all
  says 'figures: 2 measurements taken'
}

a_command_that_fails_gives_no_figures() {
  sed -i 's/echo .took 84.26 us. >&2/echo because >\&2; exit 3/' "$T/loadtest/figures/figures.json"
  ends 1 printed written
  says 'printed: could not be taken: its command ended with 3:'
  says '^    because$'
  says '^  b '
}

output_without_the_figure_is_told() {
  sed -i 's/name=b/name=c/; s/took (/slept (/' "$T/loadtest/figures/figures.json"
  ends 1 --all
  says 'written: could not be taken: the output has no runs > name=c > ns'
  says 'printed: could not be taken: nothing in the output is like slept'
}

nothing_is_written_without_update() {
  cp "$T/loadtest/figures/figures.json" "$T/before"
  ends 0 --all
  cmp -s "$T/before" "$T/loadtest/figures/figures.json" || die "figures.json has changed"
}

update_writes_value_commit_and_cpu() {
  at_rest
  ends 0 --update written
  python3 - "$T/loadtest/figures/figures.json" <<'END' || die "figures.json has something else"
import json, sys
written = json.load(open(sys.argv[1]))["written"]
other = json.load(open(sys.argv[1]))["printed"]
assert written["figures"]["b"]["value"] == "2.5", written
assert written["commit"] == "1a2b3c4" and " cores of " in written["cpu"], written
assert written["date"] > "2026-01-01", written
assert other["commit"] == "0000000", other
END
}

update_is_refused_where_the_commit_would_lie() {
  at_rest
  echo ' M common/base/clock.cc' >"$T/changed"
  ends 1 --update written
  says 'sources differ from the commit'
}

update_is_refused_on_a_busy_machine() {
  sed -i 's/os.getloadavg()\[0\]/1000/' "$T/loadtest/figures/run.py"
  ends 1 --update written
  says 'the machine has other work'
}

wrong_usage_is_told() {
  ends 2 nonsense
  says "there is no measurement 'nonsense'"
  ends 2 --fast
  says 'usage: '
}

# The real file: names, commands and figures are there, and nothing else.
the_file_is_whole() {
  python3 - "$figures" <<'END' || die "figures.json is wrong"
import json, re, sys
measurements = json.load(open(sys.argv[1], encoding="utf-8"))
assert measurements
for name, told in measurements.items():
    assert re.fullmatch(r"\w+", name), name
    assert set(told) == {"command", "class", "minutes", "readmes", "commit", "cpu", "date", "figures"}, name
    assert told["class"] in ("quick", "long") and told["minutes"] > 0, name
    assert re.fullmatch("[0-9a-f]{7}", told["commit"]) and told["readmes"] and told["figures"], name
    for figure, way in told["figures"].items():
        assert ("regex" in way) != ("at" in way), (name, figure)
        assert set(way) <= {"value", "unit", "regex", "at", "in", "scale"}, (name, figure)
        assert re.fullmatch(r"[\d .]+( to [\d .]+)?", way["value"]), (name, figure)
        if "regex" in way:
            assert re.compile(way["regex"]).groups == 1, (name, figure)
END
}

for case in quick_ones_are_taken_without_names a_range_is_compared_by_its_middle \
  all_are_taken_if_asked a_command_that_fails_gives_no_figures \
  output_without_the_figure_is_told nothing_is_written_without_update \
  update_writes_value_commit_and_cpu update_is_refused_where_the_commit_would_lie \
  update_is_refused_on_a_busy_machine wrong_usage_is_told the_file_is_whole; do
  if (new_tree && "$case"); then
    passed=$((passed + 1))
  else
    echo "FAILED: $case"
    failed=$((failed + 1))
  fi
done
echo "cases: $passed passed, $failed failed"
[ "$failed" = 0 ]
