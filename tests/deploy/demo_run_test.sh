#!/usr/bin/env bash
# What deploy/demo/run.sh does around the programs that it starts: arguments, folders,
# order, signals, and that nothing stays.  The programs are fakes that write down that they
# ran; the machine is not asked.
#
#   demo_run_test.sh SCRIPT...    # the files of deploy/demo
set -uo pipefail
scripts=("$@")
here=$PWD
passed=0 failed=0

# --- a tree with fakes ---

# shellcheck disable=SC2016  # bodies of fakes are expanded when these run

new_tree() {
  T=$(mktemp -d "$TEST_TMPDIR/tree.XXXXXX")
  export CALLS=$T/calls HOME=$T/home FAKE_BIN=$T/out
  mkdir -p "$CALLS" "$HOME" "$T/deploy/demo/model" "$T/deploy/bazel" "$T/fakes" "$T/pictures" \
    "$T"/{common,protos,services}
  local script
  for script in "${scripts[@]}"; do cp "$here/$script" "$T/deploy/demo/"; done
  touch "$T/WORKSPACE" "$T/.bazelrc" "$T/BUILD.bazel" "$T/services/main.cc"
  echo '{}' >"$T/deploy/demo/model/manifest.json"
  echo 'x' >"$T/pictures/a.png"
  printf 'check_machine() { :; }\njob_count() { echo 1; }\n' >"$T/deploy/demo/machine.sh"
  fake "$T/deploy/bazel/setup.sh" ''
  fake "$T/fakes/bazel" 'case "$*" in *" info "*) echo "$FAKE_BIN" ;; esac; hang bazel-build "$*"'
  local server
  for server in router query_encoder index_search reranker; do
    fake "$FAKE_BIN/services/$server/$server" '
      hang '"$server"'
      port=$((10000 + $$ % 50000))
      ! grep -q ":7400" "$2" || port=7400
      echo "{\"event\":\"started\",\"port\":$port,\"metrics_port\":1}" >&2
      exec sleep 600'
  done
  fake "$FAKE_BIN/services/corpus_encoder/corpus_encoder" '
    hang corpus_encoder
    while [ "$1" != --store ]; do shift; done
    mkdir -p "$2/indexes/images/generations/g1" "$2/work/images"
    if [ -e "$CALLS/no_pictures" ]; then cp "$CALLS/no_pictures" "$2/work/images/quarantine.jsonl"; exit 1; fi
    cp "$CALLS/ledger" "$2/indexes/images/generations/g1/quarantine.jsonl" 2>/dev/null ||
      : >"$2/indexes/images/generations/g1/quarantine.jsonl"
    printf "generation g1 (published)\n  items     1 images, 0 captions\n"'
  fake "$FAKE_BIN/services/sightlinectl/sightlinectl" '
    case $1 in
      add-model) echo "id-${2##*/}" ;;
      status) printf "images g READY 1\ncaptions g READY 1\n" ;;
      query) echo "1 $2" ;;
    esac'
  fake "$FAKE_BIN/services/evaluator/evaluator" 'echo "hits@10: 44/50"; [ ! -e "$CALLS/few_hits" ] || exit 1'
  export PATH=$T/fakes:/usr/bin:/bin
  run=$T/deploy/demo/run.sh
}

# FILE BODY: an executable that writes down its call and its process.
fake() {
  mkdir -p "$(dirname "$1")"
  cat >"$1" <<END
#!/usr/bin/env bash
echo "\${0##*/} \$*" >>"\$CALLS/log"
echo \$\$ >>"\$CALLS/pids"
# NAME [ARGUMENTS]: fails or stays if the test wants that.
hang() {
  [ "\$1" != bazel-build ] || [[ \${2:-} == *" build "* ]] || return 0
  [ ! -e "\$CALLS/fail.\$1" ] || { echo "\$1 is broken" >&2; exit 1; }
  [ ! -e "\$CALLS/hang.\$1" ] || exec sleep 600
}
$2
END
  chmod +x "$1"
}

# --- what is checked ---

die() { echo "  $*"; [ ! -e "${T:-}/err" ] || sed 's/^/  | /' "$T/err"; exit 1; }

# STATUS TEXT ARGUMENTS...: run.sh ends with that status and says the text.
ends() {
  local want=$1 text=$2 got=0
  shift 2
  "$run" "$@" >"$T/out.txt" 2>"$T/err" || got=$?
  [ "$got" = "$want" ] || die "run.sh $* ended with $got, not $want"
  grep -qF -- "$text" "$T/err" "$T/out.txt" || die "run.sh $* did not say '$text'"
}

calls() { grep -c -- "$1" "$CALLS/log" 2>/dev/null || true; }

nothing_ran() { [ ! -e "$CALLS/log" ] || die "was started: $(cat "$CALLS/log")"; }

await() {
  local i
  for ((i = 0; i < 600; ++i)); do
    ! "$@" || return 0
    sleep 0.05
  done
  die "never came true: $*"
}

all_ended() {
  local pid
  while read -r pid; do
    ! kill -0 "$pid" 2>/dev/null || return 1
  done <"$CALLS/pids"
}

nothing_stays() {
  all_ended || die "still running: $(cat "$CALLS/pids")"
  ! compgen -G "${1:-$HOME/.cache/sightline/demo}/run.*" >/dev/null || die "a run's folder stays"
}

# Starts run.sh with ARGUMENTS and waits until `$T/err` or the calls show TEXT.
start() {
  local text=$1
  shift
  "$run" "$@" >"$T/out.txt" 2>"$T/err" &
  process=$!
  await grep -qsF -- "$text" "$T/out.txt" "$T/err" "$CALLS/log"
}

ended_with() {
  local got=0
  wait "$process" || got=$?
  [ "$got" = "$1" ] || die "ended with $got, not $1"
}

# --- cases ---

wrong_arguments_are_refused_before_anything_runs() {
  ends 2 "unknown argument '--chekc'" --chekc
  ends 2 "unknown argument 'pictures'" pictures
  ends 2 "--state needs a folder" --state
  ends 2 "--state needs a folder" --state=
  ends 2 "--images needs a folder" --images ''
  ends 2 "exclude each other" --once --check
  ends 2 "leave --images FOLDER away" --check --images "$T/pictures"
  ends 2 "printable UTF-8" --state $'a\nb'
  nothing_ran
}

help_goes_to_stdout() {
  ends 0 "usage: deploy/demo/run.sh" --help
  grep -q -- '--images FOLDER' "$T/out.txt" || die "help is incomplete"
  [ ! -s "$T/err" ] || die "help goes to stderr"
  nothing_ran
}

folders_that_cannot_do_are_refused_before_anything_runs() {
  mkdir "$T/empty"
  ends 2 "holds no file that is not hidden" --images "$T/empty"
  mkdir "$T/empty/.hidden" && touch "$T/empty/.hidden/a.png" "$T/empty/.b.png"
  ends 2 "holds no file that is not hidden" --images "$T/empty"
  ends 2 "there is no '$T/nope'" --images "$T/nope"
  ends 2 "is a file" --images "$T/pictures/a.png"
  ends 2 "among the pictures" --images "$T/pictures" --state "$T/pictures/state"
  nothing_ran
}

a_whole_run_asks_a_dozen_questions_and_leaves_nothing() {
  ends 0 "== a red fish" --once
  [ "$(calls '^sightlinectl query')" = 12 ] || die "not a dozen questions"
  [ "$(calls '^index_search')" = 2 ] || die "not two shards"
  nothing_stays
}

a_second_run_asks_bazel_only_when_a_source_has_changed() {
  ends 0 "building" --once
  ends 0 "1 images" --once
  [ "$(calls '^bazel .* build ')" = 1 ] || die "built without a reason"
  touch "$T/services/new.cc"
  ends 0 "building" --once
  [ "$(calls '^bazel .* build ')" = 2 ] || die "a new source was not built"
  touch "$CALLS/fail.bazel-build" "$T/common/new.cc"
  ends 1 "the build failed" --once
  rm "$CALLS/fail.bazel-build"
  ends 0 "building" --once
}

check_says_what_the_evaluator_says() {
  ends 0 "hits@10: 44/50" --check
  [ "$(calls '^evaluator questions .*--top-k 10 .*--at-least 44')" = 1 ] || die "not asked as agreed"
  touch "$CALLS/few_hits"
  ends 1 "--check wants 44" --check
  nothing_stays
}

signals_end_everything() {
  local signal where
  for signal in INT:130 TERM:143 HUP:129; do
    start "Ctrl-C stops everything"
    kill -"${signal%:*}" "$process"
    ended_with "${signal#*:}"
    nothing_stays
  done
  for where in corpus_encoder bazel-build index_search; do
    rm -rf "$CALLS/log" "$T"/home/.cache/sightline/demo.built.*
    touch "$CALLS/hang.$where"
    start "${where#bazel-}"
    await test -s "$CALLS/log"
    kill -INT "$process"
    ended_with 130
    nothing_stays
    rm "$CALLS/hang.$where"
  done
}

a_run_that_is_killed_takes_its_servers_along_and_the_next_one_cleans_up() {
  start "Ctrl-C stops everything"
  kill -KILL "$process"
  ended_with 137
  await all_ended
  ends 0 "== a red fish" --once
  nothing_stays
}

a_server_that_ends_ends_all() {
  start "Ctrl-C stops everything"
  local one
  while read -r one; do
    ! grep -qsz '^sleep' "/proc/$one/cmdline" || break
  done <"$CALLS/pids"
  kill -KILL "$one"
  ended_with 1
  grep -q "demo: .* ended; the end of its log is above" "$T/err" || die "nobody said which"
  nothing_stays
}

a_server_or_a_step_that_fails_ends_all() {
  local where
  for where in router reranker corpus_encoder; do
    touch "$CALLS/fail.$where"
    ends 1 "$where is broken" --once
    grep -q "^demo: .*run this again" "$T/err" || die "nobody said what to do"
    nothing_stays
    rm "$CALLS/fail.$where"
  done
  rm -r "$T/deploy/demo/model"
  ends 1 "deploy/demo/model is not there" --once
  nothing_stays
}

own_pictures_have_their_own_store_and_a_table_of_what_was_left_out() {
  local i
  for ((i = 10; i < 35; ++i)); do
    printf '{"item_id":"%s \\"q\\".gif","path":"/p/%s","reason":"image is GIF"}\n' "$i" "$i"
  done >"$CALLS/ledger"
  (cd "$T" && ends 0 "left out 25 of the files" --images pictures --once --state here) || exit 1
  [ ! -e "$T/here/store" ] || die "the demo's store was touched"
  [ "$(grep -c '"q".gif  image is GIF' "$T/err")" = 20 ] || die "not twenty lines"
  grep -q "and 5 more, see $T/here/images/.*/quarantine.jsonl" "$T/err" || die "the rest is not told"
  grep -q "knows little else" "$T/err" || die "what the model knows is not told"
  [ "$(calls "folder:$T/pictures --max-quarantine-share 1")" = 1 ] || die "the folder is not the corpus"
  [ "$(calls "--model id-model --corpus")" = 1 ] || die "the model is not in its place"
  nothing_stays "$T/here"
}

pictures_of_which_none_can_be_used_are_told_one_by_one() {
  echo '{"item_id":"a.png","path":"/a.png","reason":"empty file"}' >"$CALLS/no_pictures"
  ends 1 "a.png  empty file" --images "$T/pictures"
  grep -q "no picture in $T/pictures can be used" "$T/err" || die "the end is not clear"
  nothing_stays
}

paths_may_have_any_name() {
  local name
  for name in "it's a #1: {folder}" $'two\nlines' $'caf\xe9' -dash; do
    mkdir "$T/$name" && touch "$T/$name/a.png"
    (cd "$T" && ends 0 "== a person" --images="$name" --once --state "$T/it's") || exit 1
  done
  nothing_stays "$T/it's"
}

runs_side_by_side_all_end_well() {
  local pids=() i
  for i in 1 2 3; do
    "$run" --once >"$T/out.$i" 2>"$T/err.$i" &
    pids+=($!)
  done
  for i in "${pids[@]}"; do wait "$i" || die "one of three failed: $(tail -n 2 "$T"/err.*)"; done
  [ "$(calls '^bazel .* build ')" = 1 ] || die "built more than once"
  nothing_stays
}

# shellcheck disable=SC2317  # machine.sh calls them
disks_and_compilers_are_counted() (
  say() { echo "$*"; }
  fail() { say "$*"; exit 1; }
  # shellcheck disable=SC2034
  built=$T/nope state=$T/a/b
  cp "$here/$(printf '%s\n' "${scripts[@]}" | grep machine.sh)" "$T/real_machine.sh"
  # shellcheck disable=SC1091
  . "$T/real_machine.sh"
  need_disk "$T/a/b" 1 "the test" || die "one megabyte is not there"
  [[ $(need_disk "$T/a/b" 999999999 "the test") == *"MB free, and the test would need 999999999"* ]] ||
    die "a disk that is too small was taken"
  memory_mb() { echo 100; }
  [ "$(job_count)" = 1 ] || die "no compiler at all"
  memory_mb() { echo 99999999; }
  [ "$(job_count)" = "$(nproc)" ] || die "not a compiler for each core"
)

# --- all of them ---

for case in wrong_arguments_are_refused_before_anything_runs help_goes_to_stdout \
  folders_that_cannot_do_are_refused_before_anything_runs \
  a_whole_run_asks_a_dozen_questions_and_leaves_nothing \
  a_second_run_asks_bazel_only_when_a_source_has_changed check_says_what_the_evaluator_says \
  signals_end_everything \
  a_run_that_is_killed_takes_its_servers_along_and_the_next_one_cleans_up \
  a_server_that_ends_ends_all a_server_or_a_step_that_fails_ends_all \
  own_pictures_have_their_own_store_and_a_table_of_what_was_left_out \
  pictures_of_which_none_can_be_used_are_told_one_by_one paths_may_have_any_name \
  runs_side_by_side_all_end_well disks_and_compilers_are_counted; do
  if (new_tree && "$case"); then
    passed=$((passed + 1))
  else
    echo "FAILED: ${case//_/ }"
    failed=$((failed + 1))
  fi
done
echo "cases: $passed passed, $failed failed"
[ "$failed" = 0 ]
