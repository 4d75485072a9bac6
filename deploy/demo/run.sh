#!/usr/bin/env bash
# From a fresh clone to a fleet that answers: installs what is missing, builds, encodes
# about ten thousand pictures of Debian's packages into a two-shard generation, starts
# router, encoder, reranker and two index_search processes, asks a few questions, and
# stays up until Ctrl-C.  A second run reuses what the first one made.
#
# usage: deploy/demo/run.sh [--once] [--state DIR]
#   --once       stop after the questions
#   --state DIR  where store, configurations and logs live (default ~/.cache/sightline/demo)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

state=${HOME:-/root}/.cache/sightline/demo
once=0
while [ $# -gt 0 ]; do
  case $1 in
    --once) once=1 ;;
    --state) state=${2:?--state needs a folder}; shift ;;
    -h | --help) sed -n '2,10s/^# \{0,1\}//p' "$0"; exit 0 ;;
    *) echo "unknown argument '$1'; see $0 --help" >&2; exit 2 ;;
  esac
  shift
done

say() { printf 'demo: %s\n' "$*" >&2; }
fail() { say "$*"; exit 1; }

deploy/bazel/setup.sh "$PWD/deploy/demo/packages.txt"
say "building (about twenty minutes the first time)"
bazel build --noshow_progress //services/... || fail "the build failed; its messages are above"
bin=$(bazel info bazel-bin 2>/dev/null)/services

mkdir -p "$state"
run=$(mktemp -d "$state/run.XXXXXX")
pids=()
stop() {
  trap - EXIT INT TERM
  [ ${#pids[@]} = 0 ] || kill "${pids[@]}" 2>/dev/null || true
  [ ${#pids[@]} = 0 ] || wait "${pids[@]}" 2>/dev/null || true
  rm -rf "$run"
}
trap stop EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# One run at a time prepares the store; side by side they share it.
exec 9>"$state/lock"
flock 9
store=$state/store
if [ ! -f "$state/model" ]; then
  say "making a vocabulary and a randomly initialised model"
  "$bin/sightlinectl/sightlinectl" make-vocabulary --corpus stamps,clipart,emoji --out "$state/vocab.txt"
  "$bin/sightlinectl/sightlinectl" init-model --store "$store" --vocabulary "$state/vocab.txt" >"$state/model.new"
  mv "$state/model.new" "$state/model"
fi
say "encoding the corpora (seconds when nothing changed)"
"$bin/corpus_encoder/corpus_encoder" --store "$store" --model "$(cat "$state/model")" \
  --corpus stamps --corpus clipart --corpus emoji --shards 2 ||
  fail "encoding failed; its messages are above"
flock -u 9

# start NAME SERVICE: runs the service with $run/NAME.yaml and sets `port`.
start() {
  local name=$1 service=$2 log=$run/$1.log
  "$bin/$service/$service" --config "$run/$name.yaml" 2>"$log" 9>&- &
  pids+=($!)
  local pid=$!
  until port=$(sed -n 's/.*"event":"started".*"port":\([0-9]*\),"metrics_port".*/\1/p' "$log") && [ -n "$port" ]; do
    kill -0 "$pid" 2>/dev/null || { cat "$log" >&2; fail "$name did not start; its log is above"; }
    sleep 0.1
  done
  say "$name serves on localhost:$port"
}

# backend NAME SERVICE [LINES]: configures a backend on a free port and starts it.
backend() {
  cat >"$run/$1.yaml" <<EOF
server: {listen: "127.0.0.1:0", metrics_listen: "127.0.0.1:0"}
store: $store
indexes: [images, captions]
${3:-}
EOF
  start "$1" "$2"
}

backend encoder query_encoder; encoder=$port
backend reranker reranker "state_dir: $state/reranker"; reranker=$port
backend shard0 index_search $'shards: [0]\nstate_dir: '"$state/shard0"; shard0=$port
backend shard1 index_search $'shards: [1]\nstate_dir: '"$state/shard1"; shard1=$port

# The usual port if it is free, else any.
listen=127.0.0.1:7400
if (exec 3<>/dev/tcp/127.0.0.1/7400) 2>/dev/null; then listen=127.0.0.1:0; fi
shards="[{addresses: [\"127.0.0.1:$shard0\"]}, {addresses: [\"127.0.0.1:$shard1\"]}]"
cat >"$run/router.yaml" <<EOF
server: {listen: "$listen", metrics_listen: "127.0.0.1:0"}
encoders: ["127.0.0.1:$encoder"]
rerankers: ["127.0.0.1:$reranker"]
indexes:
  images: {shards: $shards}
  captions: {shards: $shards}
EOF
start router router
export SIGHTLINE_ROUTER=localhost:$port
ctl=$bin/sightlinectl/sightlinectl

for _ in $(seq 100); do
  "$ctl" status >"$run/status.txt" 2>&1 && grep -q READY "$run/status.txt" && break
  sleep 0.1
done
cat "$run/status.txt"
for question in "a red fish" "a house on a hill" "smiling face"; do
  printf '\n== %s\n' "$question"
  "$ctl" query "$question" --top-k 5 --timeout 10s || fail "the query failed"
done

[ "$once" = 0 ] || exit 0
cat <<EOF

The model is untrained, so what it finds is arbitrary.  Ask more, in another terminal:
  SIGHTLINE_ROUTER=$SIGHTLINE_ROUTER $ctl query "a blue bird"
  SIGHTLINE_ROUTER=$SIGHTLINE_ROUTER $ctl query --image FILE
  SIGHTLINE_ROUTER=$SIGHTLINE_ROUTER $ctl status
Logs and configurations: $run
Ctrl-C stops everything.
EOF
# A server that ends by itself ends the demo.
wait -n "${pids[@]}" || true
fail "a server ended; see the logs in $run"
