#!/usr/bin/env bash
# The tree and its documents agree with its registries, and the check that says so can see
# when they do not.
# shellcheck disable=SC2016  # backquotes are Markdown's
set -euo pipefail
check=$1
# The real tree, not the copies that Bazel laid out for this test.
root=$(dirname "$(readlink -f "$2")")
python3 "$check" "$root"

# A small tree in which all is told, and where one change at a time must be noticed.
make_tree() {
  tree=$(mktemp -d "$TEST_TMPDIR/tree.XXXX")
  mkdir -p "$tree/common/base" "$tree/common/generations" "$tree/protos" "$tree/tests/layering"
  cat >"$tree/common/base/error_reasons.h" <<'END'
inline constexpr Reason kQueueFull{"QUEUE_FULL", absl::StatusCode::kResourceExhausted};
inline constexpr Reason kTooBig{"TOO_BIG",
                                absl::StatusCode::kUnavailable};
END
  cat >"$tree/common/base/limits.h" <<'END'
inline constexpr int kMaxHits = 1'000;  // of a search
inline constexpr int kMaxNeighbors =
    kMaxHits + 1;
inline constexpr int64_t kMaxTextBytes = int64_t{16} << 10;
END
  printf '%s\n' '// Hits wanted.  At most' '// 1000; of a shard 1001.' >"$tree/protos/search.proto"
  printf '%s\n' 'A text has up to 16 KiB, in half 8KiB.' >"$tree/README.md"
  printf '%s\n' '# How' 'protos/search.proto' \
    '  Hits wanted. At most {}; of a shard {}. <- kMaxHits, kMaxNeighbors' \
    'README.md' '  up to {}, in half {}. <- kMaxTextBytes, kMaxTextBytes / 2' \
    >"$tree/tests/layering/cited_limits.txt"
  echo 'if (hits > limits::kMaxNeighbors || text > limits::kMaxTextBytes) return;' \
    >"$tree/common/base/check.cc"
  printf '%s\n' 'return MakeError(reasons::kQueueFull, "full");' \
    'return HasReason(status, reasons::kTooBig);' >"$tree/common/base/queue.cc"
  printf '%s\n' '| `QUEUE_FULL` | RESOURCE_EXHAUSTED | no room |' \
    'A full queue is RESOURCE_EXHAUSTED, `QUEUE_FULL`.' >"$tree/protos/README.md"
  for file in queue list; do
    printf '%s\n' 'namespace sightline {' "struct ${file^} {" '  struct Entry {};' '};' \
      >"$tree/common/base/$file.h"
  done
  echo '| `TOO_BIG` | does not fit | never |' >"$tree/common/generations/README.md"
}
make_tree
python3 "$check" "$tree" >/dev/null

offends() {  # COMMAND: after it the tree must be refused
  make_tree
  (cd "$tree" && eval "$1")
  if python3 "$check" "$tree" >/dev/null; then
    echo "not noticed: $1"
    exit 1
  fi
}
offends 'sed -i s/QUEUE_FULL/QUEUE_IS_FULL/ common/base/error_reasons.h'
offends 'sed -i s/kResourceExhausted/kUnavailable/ common/base/error_reasons.h'
offends 'sed -i s/kTooBig/kQueueFull/ common/base/error_reasons.h'
offends 'sed -i "s/| RESOURCE_EXHAUSTED/| UNAVAILABLE/" protos/README.md'
offends 'sed -i "s/is RESOURCE_EXHAUSTED/is UNAVAILABLE/" protos/README.md'
offends 'sed -i "s/, .QUEUE_FULL/, \`QUEUE_IS_FULL/" protos/README.md'
offends 'sed -i 1d protos/README.md'
offends 'sed -i s/TOO_BIG/TOO_LARGE/ common/generations/README.md'
offends 'echo "if (reason == \"QUEUE_FULL\") return;" >>common/base/queue.cc'
offends 'echo "CHECK(reason == \"TOO_BIG\");" >tests/queue_test.cc'
offends 'sed -i 2d common/base/queue.cc'
offends 'echo >common/base/error_reasons.h'
offends 'rm common/base/error_reasons.h'
offends 'sed -i "s/1.000/999/" common/base/limits.h'
offends 'sed -i "s/kMaxHits + 1/kMaxHits + 2/" common/base/limits.h'
offends 'sed -i "s/<< 10/<< 20/" common/base/limits.h'
offends 'sed -i s/1001/1002/ protos/search.proto'
offends 'sed -i s/8KiB/9KiB/ README.md'
offends 'rm README.md'
offends 'sed -i "s/kMaxHits, /kMaxPages, /" tests/layering/cited_limits.txt'
offends 'echo "constexpr size_t kMaxTextBytes = 16384;" >>common/base/check.cc'
offends 'echo "inline constexpr int kMaxPairs = 7;" >>common/base/limits.h'
offends 'echo >common/base/limits.h'
offends 'rm tests/layering/cited_limits.txt'
offends 'sed -i s/List/Queue/ common/base/list.h'
offends 'sed -i "s/struct List/class Queue : public List/" common/base/list.h'
