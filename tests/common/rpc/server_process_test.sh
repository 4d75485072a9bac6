#!/bin/bash
# The command line that every server has, on one of them.
#
#   server_process_test.sh SERVER
set -u
server=$1
passed=0
failed=0
config=$TEST_TMPDIR/server.yaml

# expect CODE PATTERN ARGUMENTS...: the exit code, and a line of the output.
expect() {
  local code=$1 pattern=$2
  shift 2
  local output
  output=$("$server" "$@" 2>&1)
  local got=$?
  if [ "$got" -eq "$code" ] && grep -q -- "$pattern" <<<"$output"; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    printf 'FAILED: %s\n  exit code %d, wanted %d; wanted "%s" in:\n%s\n' \
      "$*" "$got" "$code" "$pattern" "$output"
  fi
}

expect 0 'usage: router --config FILE' --help
expect 2 'usage: router --config FILE'
expect 2 "unknown argument '--config'" --config
expect 2 "unknown argument 'extra'" --config "$config" extra
expect 2 'usage: router' --check
expect 2 'configuration refused' --config "$TEST_TMPDIR/nothing.yaml" --check

cat > "$config" <<'YAML'
encoders: [127.0.0.1:1]
indexes: {images: {shards: [{addresses: [127.0.0.1:2]}]}}
YAML
expect 0 'configuration is valid' --config "$config" --check
expect 0 'configuration is valid' --check "--config=$config"

echo 'log: {level: loud}' >> "$config"
expect 2 'log.level' --config "$config" --check
echo 'colour: red' >> "$config"
expect 2 'colour' --config "$config"

printf 'encoders: [\n' > "$config"
expect 2 'configuration refused' --config "$config" --check

# An address that cannot be listened at ends the process with what is wrong.
cat > "$config" <<'YAML'
server: {listen: "203.0.113.1:1", metrics_listen: ""}
encoders: [127.0.0.1:1]
indexes: {images: {shards: [{addresses: [127.0.0.1:2]}]}}
YAML
expect 75 'start failed' --config "$config"

echo "cases: $passed passed, $failed failed"
[ "$failed" = 0 ]
