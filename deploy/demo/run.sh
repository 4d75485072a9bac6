#!/usr/bin/env bash
# From a fresh clone to a fleet that answers: installs what is missing, builds, encodes
# about ten thousand pictures of Debian's packages into a two-shard generation, starts
# router, encoder, reranker and two index_search processes, asks a dozen questions, and
# stays up until Ctrl-C.  A second run reuses what the first one made.
#
# usage: deploy/demo/run.sh [--images FOLDER] [--once | --check] [--state DIR]
#   --images FOLDER  search the pictures below FOLDER instead
#   --once           stop after the questions
#   --check          ask the fifty questions of questions.jsonl instead of the dozen, say
#                    how many were answered, and stop; 44 are enough
#   --state DIR      where store, configurations and logs live (default
#                    ~/.cache/sightline/demo)
#   --help           print this and stop
#
# exit status: 0 done, 1 something failed (a message says what to do), 2 wrong usage,
# 129, 130 or 143 stopped by hangup, Ctrl-C or SIGTERM.
set -euo pipefail
export LC_ALL=C.UTF-8  # characters are counted, paths keep their bytes
# A script that starts this one with `&` makes it deaf to SIGINT, which bash cannot undo.
[ -z "$(trap -p INT)" ] || exec env --default-signal=INT "${BASH_SOURCE[0]}" "$@"

demo=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$demo/../.." && pwd)
# shellcheck source=deploy/demo/machine.sh
. "$demo/machine.sh"
# shellcheck source=deploy/demo/fleet.sh
. "$demo/fleet.sh"

readonly cache=${HOME:-/root}/.cache/sightline
readonly wanted_hits=44
readonly shard_count=2
readonly targets=(//services/corpus_encoder //services/evaluator //services/index_search
  //services/query_encoder //services/reranker //services/router //services/sightlinectl)
# Of this clone: what is_built() looks at.
built=$cache/demo.built.$(printf '%s' "$root" | sha256sum | head -c 16)
readonly dozen=("a red fish" "a house on a hill" "a smiling face" "a sailing boat" "a butterfly"
  "an apple" "a christmas tree" "a steam locomotive" "a guitar" "the flag of japan"
  "a birthday cake" "a bicycle")
readonly own_questions=("a person" "an animal" "a red heart")

say() { printf 'demo: %s\n' "$*" >&2; }
fail() { say "$*"; exit 1; }
usage_error() {
  printf '%s\n%s\n' "$*" "see $0 --help" >&2
  exit 2
}

# --- what is asked ---

state=$cache/demo
folder=''
mode=serve

read_arguments() {
  while [ $# -gt 0 ]; do
    case $1 in
      --images | --state)
        [ -n "${2:-}" ] || usage_error "$1 needs a folder"
        if [ "$1" = --images ]; then folder=$2; else state=$2; fi
        shift
        ;;
      --images=?*) folder=${1#*=} ;;
      --state=?*) state=${1#*=} ;;
      --images= | --state=) usage_error "${1%=} needs a folder" ;;
      --once | --check)
        [ "$mode" = serve ] || [ "$mode" = "${1#--}" ] ||
          usage_error "--once and --check exclude each other: --check stops by itself"
        mode=${1#--}
        ;;
      -h | --help) sed -n '2,/^set /s/^# \{0,1\}//p' "$demo/run.sh"; exit 0 ;;
      *) usage_error "unknown argument '$1'" ;;
    esac
    shift
  done
  if [ -n "$folder" ] && [ "$mode" = check ]; then
    usage_error "--check asks about the demo's own pictures; leave --images FOLDER away"
  fi
  # The caller's folder is what relative paths are relative to.
  state=$(realpath -m -- "$state")
  is_text "$state" || usage_error "--state: configurations cannot name this path; take one of printable UTF-8"
  [ -z "$folder" ] || check_folder
}

is_text() {
  [[ $1 != *[[:cntrl:]]* ]] && iconv -f UTF-8 -t UTF-8 <<<"$1" >/dev/null 2>&1
}

# Problems of the folder are told before anything is installed or built.
check_folder() {
  [ -e "$folder" ] || usage_error "--images: there is no '$folder'"
  [ -d "$folder" ] || usage_error "--images wants a folder, and '$folder' is a file; name the folder it lies in"
  folder=$(realpath -- "$folder")
  local inside
  inside=$(find "$folder" -type d ! \( -readable -executable \) -print -quit 2>/dev/null) || true
  [ -z "$inside" ] ||
    usage_error "--images: the folder '$inside' may not be read by $(id -un); change its permissions (chmod u+rx) or run as its owner"
  inside=$(find "$folder" -mindepth 1 -name '.*' -prune -o -xtype f -print -quit 2>/dev/null) || true
  [ -n "$inside" ] || usage_error "--images: '$folder' holds no file that is not hidden; name a folder with JPEG, PNG or WebP pictures"
  case $state/ in
    "$folder"/*)
      [[ ${state#"$folder"} == */.* ]] ||
        usage_error "--state lies among the pictures, where its files would be taken for some; name another folder"
      ;;
  esac
}

# --- the steps ---

# Setup and build, one run at a time for all clones of this user: neither apt nor a build
# is the faster for another one beside it.
build() {
  mkdir -p "$cache" "$state" ||
    fail "$cache or $state cannot be written; set HOME to a folder of yours, or give --state DIR"
  take_lock 8 "$cache/demo.lock" "installing or building"
  # In the foreground: apt stops at Ctrl-C where that is safe, and sudo can ask.
  "$root/deploy/bazel/setup.sh" "$demo/packages.txt" || fail "the machine is not ready; the reason is above"
  is_built || build_binaries
  flock -u 8
}

# Where this clone's binaries lie, and what they were built with.  The stamp is as old as
# the sources that were read.
stamp() { printf '%s\n%s\n' "$bin" "${LIBTORCH_HOME:-}"; }

# Whether the binaries are those of the sources and packages of now; sets `bin`.  Asking
# Bazel takes three times as long as all the rest of a second run.
is_built() {
  [ -e "$built" ] || return 1
  read -r bin <"$built"
  [ "$(cat "$built")" = "$(stamp)" ] || return 1
  local target
  for target in "${targets[@]##*/}"; do
    [ -x "$bin/$target/$target" ] || return 1
  done
  [ -z "$(cd "$root" && find common deploy/bazel protos services ./*.bazel* .bazelrc WORKSPACE \
    /var/lib/dpkg/status -cnewer "$built" -print -quit 2>/dev/null)" ]
}

build_binaries() {
  local progress=() first=
  [ -t 2 ] || progress=(--noshow_progress)
  [ -e "$built" ] || first=" (five to twenty minutes the first time)"
  say "building$first"
  cd "$root"
  # The server that Bazel starts goes away by itself.  One that is there already, of
  # somebody who works in this clone, keeps its own patience.
  local bazel=(bazel "--max_idle_secs=$bazel_idle_seconds")
  bin=$("${bazel[@]}" info bazel-bin)/services || fail "bazel does not start; what it says is above.  Mend that and run this again"
  stamp >"$built.new"
  step "${bazel[@]}" build "${progress[@]}" --jobs="$(job_count)" "${targets[@]}" ||
    fail "the build failed; its messages are above.  Out of memory or disk?  Free some and run this again: it goes on where it stopped"
  mv "$built.new" "$built"
}

# The corpus and the place that its store lies in.
choose_corpus() {
  store_home=$state
  corpora=(--corpus stamps --corpus clipart --corpus emoji)
  [ -n "$folder" ] || return 0
  store_home=$state/images/$(printf '%s' "$folder" | sha256sum | head -c 16)
  mkdir -p "$store_home"
  local path=$folder
  # A configuration is text; a path that is not hides behind a link that is.
  if ! is_text "$path"; then
    path=$store_home/pictures
    ln -sfn -- "$folder" "$path"
  fi
  # A folder of one's own may be mostly something else.
  corpora=(--corpus "folder:$path" --max-quarantine-share 1)
}

# One bundle, which retrieves and reranks.
add_model() {
  local folder=$demo/model mend="git -C $root checkout -- deploy/demo/model"
  [ -f "$folder/manifest.json" ] ||
    fail "$folder is not there, so this clone is not whole; try: $mend"
  model=$("$ctl" add-model "$folder" --store "$store" 2>"$run/model.log") ||
    { cat "$run/model.log" >&2; fail "the model could not be added to $store; if its files are damaged: $mend"; }
}

encode() {
  if [ -n "$folder" ]; then
    say "encoding the pictures of $folder"
  elif [ -e "$store/indexes/images/CURRENT" ]; then
    say "looking for changes in the corpora"
  else
    say "encoding about ten thousand pictures (a few minutes the first time)"
  fi
  local log=/dev/stderr
  [ -t 2 ] || log=$run/encode.log  # without a terminal, progress is a log
  if ! step "$bin/corpus_encoder/corpus_encoder" --store "$store" --model "$model" \
    "${corpora[@]}" --shards "$shard_count" 2>"$log" >"$run/encode.txt"; then
    [ ! -f "$run/encode.log" ] || grep '"severity":"ERROR"' "$run/encode.log" >&2 || tail -n 3 "$run/encode.log" >&2
    [ -z "$folder" ] || no_pictures
    fail "encoding failed; the error is above.  What was encoded is kept: run this again once it is mended"
  fi
  read -r _ generation _ <"$run/encode.txt"
  say "$(sed -n 's/^ *items *//p' "$run/encode.txt")"
}

# The ledger of a folder of which nothing could be used, or none if it was not that.
no_pictures() {
  local ledger=$store/work/images/quarantine.jsonl
  [ "$ledger" -nt "$run/model.log" ] || return 0
  left_out "$ledger"
  fail "no picture in $folder can be used.  Sightline reads JPEG, PNG and WebP of up to 60 megapixels; convert some, for example with ImageMagick, and run this again"
}

# What is not in the index, and why: the first twenty lines of a ledger.
left_out() {
  local count width=0 i
  count=$(wc -l <"$1")
  [ "$count" -gt 0 ] || return 0
  local files=() reasons=()
  while IFS=$'\t' read -r file reason; do
    files+=("$(shorten "$file")")
    reasons+=("$reason")
    [ "$width" -ge ${#files[-1]} ] || width=${#files[-1]}
  done < <(sed -nE '1,20s/^\{"item_id":"(.*)","path":".*","reason":"(.*)"\}$/\1\t\2/p' "$1" |
    sed 's/\\\(["\\]\)/\1/g')
  say "left out $count of the files:"
  for i in "${!files[@]}"; do
    printf '  %s%*s  %s\n' "${files[i]}" $((width - ${#files[i]})) '' "${reasons[i]}" >&2
  done
  [ "$count" -le 20 ] || printf '  … and %d more, see %s\n' $((count - 20)) "$1" >&2
}

# The end of a name, in at most 32 characters.
shorten() {
  if [ ${#1} -le 32 ]; then printf '%s' "$1"; else printf '…%s' "${1: -31}"; fi
}

# Two shards of every index behind one router.  One run prepares a store at a time, and
# none changes what CURRENT names while another starts.
start_fleet() {
  begin encoder query_encoder "$(backend_yaml)"
  begin reranker reranker "$(backend_yaml "state_dir: $(quoted "$store_home/reranker")")"
  local shard
  for ((shard = 0; shard < shard_count; ++shard)); do
    begin "shard$shard" index_search \
      "$(backend_yaml "shards: [$shard]" "state_dir: $(quoted "$store_home/shard$shard")")"
  done
  await_port encoder; local encoder=$port
  await_port reranker; local reranker=$port
  local shards=
  for ((shard = 0; shard < shard_count; ++shard)); do
    await_port "shard$shard"
    shards+="${shards:+, }{addresses: [\"127.0.0.1:$port\"]}"
  done
  start_router "$encoder" "$reranker" "[$shards]"
  export SIGHTLINE_ROUTER=localhost:$port
  await_ready
}

ask() {
  local question
  for question in "$@"; do
    printf '\n== %s\n' "$question"
    "$ctl" query "$question" --compare --top-k 5 --timeout 20s 2>"$run/query.log" ||
      { cat "$run/query.log" >&2; fail "the question was not answered; the reason is above.  A machine that is busy may be too slow: run this again"; }
  done
}

check() {
  step "$bin/evaluator/evaluator" questions --router "$SIGHTLINE_ROUTER" \
    --questions "$demo/questions.jsonl" --top-k 10 --depth 50 --at-least "$wanted_hits" ||
    fail "--check wants $wanted_hits of the questions answered among the first ten; what came instead is above.  Were model or questions changed?  git -C $root status deploy/demo tells"
}

tell_how_to_ask() {
  # A path that can be typed, instead of Bazel's.
  ln -sfn "$ctl" "$state/sightlinectl.$$" && mv -T "$state/sightlinectl.$$" "$state/sightlinectl"
  local ask
  printf -v ask '%q' "$state/sightlinectl"
  [ "$port" = 7400 ] || ask="SIGHTLINE_ROUTER=$SIGHTLINE_ROUTER $ask"
  cat <<END

The fleet is up.  Ask more, in another terminal:
  $ask query "a blue bird"
  $ask query "a blue bird" --compare          # without and with reranking
  $ask query --image FILE --index images      # pictures like this one
END
  [ -n "$folder" ] || cat <<END
  $ask query --image FILE                     # words for a picture
END
  cat <<END
  $ask status
Logs and configurations: $run
Ctrl-C stops everything.
END
}

# --- the run ---

main() {
  read_arguments "$@"
  check_machine
  trap stop EXIT
  trap 'exit 129' HUP
  trap 'exit 130' INT
  trap 'exit 141' PIPE
  trap 'exit 143' TERM

  build
  choose_corpus
  store=$store_home/store ctl=$bin/sightlinectl/sightlinectl
  make_run_folder
  take_lock 9 "$store_home/lock" "preparing the same pictures"
  add_model
  encode
  start_fleet
  flock -u 9

  if [ -n "$folder" ]; then
    left_out "$store/indexes/images/generations/$generation/quarantine.jsonl"
    say "this model has seen drawings, icons and emoji and knows little else; photographs are strange to it"
    say "try names of things, as below"
    ask "${own_questions[@]}"
  elif [ "$mode" = check ]; then
    check
  else
    ask "${dozen[@]}"
  fi
  [ "$mode" = serve ] || exit 0
  tell_how_to_ask
  await_end
}

# Read to its end before it runs: the file may change meanwhile, as by git pull.
main "$@"
