# Processes of the demo: steps that can be interrupted, servers, and their end.  Sourced
# by run.sh, whose say(), fail() and variables it uses.

# How long Bazel's server stays once nobody asks it anything.
readonly bazel_idle_seconds=3

run=''            # folder of this run's configurations and logs
step_pid=''       # the step that is under way
declare -A server_names  # of what was begun: process id -> name
declare -A server_pids   # and back
port=''           # what await_port found

# --- steps ---

# Runs a command to its end.  Bash hears signals between commands and while it waits, so
# the command runs in the background.  Should this shell be killed outright, the kernel
# ends the command.
step() {
  setpriv --pdeathsig TERM "$@" 8>&- 9>&- &
  step_pid=$!
  local status=0
  wait "$step_pid" || status=$?
  step_pid=''
  return "$status"
}

# FD FILE WHAT: waits until no other run holds the lock.
take_lock() {
  eval "exec $1>\"\$2\""
  ! flock -n "$1" || return 0
  say "another run is $3; waiting for it"
  setpriv --pdeathsig TERM flock "$1" &
  step_pid=$!
  wait "$step_pid"
  step_pid=''
}

# --- servers ---

# A YAML scalar that means TEXT.
quoted() { printf "'%s'" "${1//\'/\'\'}"; }

# The configuration of a backend on a free port, and further LINES.
backend_yaml() {
  printf '%s\n' 'server: {listen: "127.0.0.1:0", metrics_listen: "127.0.0.1:0"}' \
    "store: $(quoted "$store")" 'indexes: [images, captions]' "$@"
}

# The folder of this run; those of runs that were killed are removed.
make_run_folder() {
  local other pid
  for other in "$state"/run.*; do
    pid=${other#"$state"/run.}
    pid=${pid%%.*}
    [ ! -d "$other" ] || [ -e "/proc/$pid" ] || rm -rf "$other"
  done
  run=$(mktemp -d "$state/run.$$.XXXXXX") || fail "no folder can be made in $state; give --state DIR"
}

# NAME SERVICE YAML: starts a server; await_port tells whether it came up.
begin() {
  printf '%s\n' "$3" >"$run/$1.yaml"
  : >"$run/$1.log"  # find_port may look before the server writes
  setpriv --pdeathsig TERM "$bin/$2/$2" --config "$run/$1.yaml" 2>"$run/$1.log" 8>&- 9>&- &
  server_names[$!]=$1
  server_pids[$1]=$!
}

# NAME: waits until the server has started and sets `port`; false if it ended instead.
find_port() {
  while :; do
    port=$(sed -n 's/.*"event":"started".*"port":\([0-9]*\),"metrics_port".*/\1/p' "$run/$1.log")
    [ -z "$port" ] || return 0
    kill -0 "${server_pids[$1]}" 2>/dev/null || return 1
    sleep 0.05
  done
}

await_port() {
  find_port "$1" || server_failed "$1" "did not start"
  say "$1 serves on localhost:$port"
}

# NAME WHAT: the end of a server's log, and the end.
server_failed() {
  tail -n 5 "$run/$1.log" >&2
  fail "$1 $2; the end of its log is above.  Short of memory?  Else run this again; if it stays so, remove $store_home"
}

# ENCODER RERANKER SHARDS: the router, on its usual port if that is free, else on any.
start_router() {
  local backends listen=127.0.0.1:7400
  backends=$(printf '%s\n' "encoders: [\"127.0.0.1:$1\"]" "rerankers: [\"127.0.0.1:$2\"]" \
    'indexes:' "  images: {shards: $3}" "  captions: {shards: $3}")
  if (exec 3<>/dev/tcp/127.0.0.1/7400) 2>/dev/null; then
    listen=127.0.0.1:0
    say "port 7400 is taken, so the router gets another"
  fi
  begin router router "server: {listen: \"$listen\", metrics_listen: \"127.0.0.1:0\"}"$'\n'"$backends"
  if [ "$listen" = 127.0.0.1:7400 ] && ! find_port router; then
    # Somebody may have taken the port since we looked.
    unset "server_names[${server_pids[router]}]"
    begin router router 'server: {listen: "127.0.0.1:0", metrics_listen: "127.0.0.1:0"}'$'\n'"$backends"
  fi
  await_port router
}

# Until servers hold all of both indexes.
await_ready() {
  local i
  for ((i = 0; i < 300; ++i)); do
    if "$ctl" status >"$run/status.txt" 2>&1 && [ "$(grep -c ' READY ' "$run/status.txt")" = 2 ]; then
      return 0
    fi
    sleep 0.1
  done
  cat "$run/status.txt" >&2
  fail "the router does not report both indexes as ready; what it reports is above.  A machine that is busy may be too slow: run this again"
}

# Until a server ends, which none should.
await_end() {
  local ended
  wait -n -p ended "${!server_names[@]}" || true
  server_failed "${server_names[$ended]}" "ended"
}

# --- the end ---

# Leaves nothing running and no temporary file, however the run ended.
stop() {
  trap '' HUP INT PIPE TERM
  local pids=("${!server_names[@]}" ${step_pid:+"$step_pid"}) i pid
  [ ${#pids[@]} = 0 ] || kill -TERM "${pids[@]}" 2>/dev/null || true
  for ((i = 0; i < 200; ++i)); do
    kill -0 "${pids[@]}" 2>/dev/null || break
    sleep 0.1
  done
  for pid in "${pids[@]}"; do kill -KILL "$pid" 2>/dev/null || true; done
  wait
  await_bazel
  [ -z "$run" ] || rm -rf "$run"
}

# A server that the build has started goes away after its idle seconds: usually long
# before this, but not after a build that was broken off.
await_bazel() {
  local i
  for ((i = 0; i < 50; ++i)); do
    own_bazel_runs || return 0
    sleep 0.2
  done
}

# Whether a Bazel server of this clone runs that a demo has started: by its arguments.
own_bazel_runs() {
  local servers
  mapfile -t servers < <(grep -lszxF -e "--workspace_directory=$root" /proc/[0-9]*/cmdline)
  [ ${#servers[@]} -gt 0 ] && grep -qszxF -e "--max_idle_secs=$bazel_idle_seconds" "${servers[@]}"
}
