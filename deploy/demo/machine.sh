# What the demo asks of a machine.  Sourced by run.sh, whose fail() it calls.

# README.md tells what was measured; these leave some room.
readonly packages_mb=3700 build_mb=1000 state_mb=500
readonly least_memory_mb=2500
# What one compiler takes at its peak, in a file with LibTorch's headers.
readonly compiler_mb=1100

check_machine() {
  local release
  # shellcheck disable=SC1091
  release=$(. /etc/os-release 2>/dev/null && echo "${DEBIAN_CODENAME:-${VERSION_CODENAME:-}} ${PRETTY_NAME:-}") || true
  case ${release%% *} in
    bookworm | trixie) ;;
    *) fail "this is neither Debian 12 nor 13 (it says: ${release#* }), and Sightline builds with the packages of those (bookworm, trixie); use a machine or a container of one, such as the image debian:13" ;;
  esac
  grep -qw avx2 /proc/cpuinfo ||
    fail "this CPU ($(uname -m)) lacks AVX2, which Sightline is built for; use an x86-64 machine made since about 2015, or a virtual one that passes its CPU through"
  [ "$(memory_mb)" -ge "$least_memory_mb" ] ||
    fail "$(memory_mb) MB of memory are free and $least_memory_mb are needed; end something, or give the machine more"
  command -v bazel >/dev/null || need_disk /usr "$packages_mb" "the packages"
  [ -e "$built" ] || need_disk "$cache" "$build_mb" "the build"
  need_disk "$state" "$state_mb" "the index"
}

# PATH MB WHAT: fails unless so much is free where PATH lies or will lie.
need_disk() {
  local path=$1 free
  while [ ! -e "$path" ]; do path=$(dirname "$path"); done
  free=$(df --output=avail -m -- "$path" | tail -n 1)
  [ "$free" -ge "$2" ] ||
    fail "the disk of $path has $free MB free, and $3 would need $2; free some there"
}

# Memory that is free now, of the machine or of what its container may have.
memory_mb() {
  local free limit used cached
  free=$(($(sed -n 's/^MemAvailable: *\([0-9]*\) kB$/\1/p' /proc/meminfo) / 1024))
  if limit=$(cat /sys/fs/cgroup/memory.max 2>/dev/null) && [ "$limit" != max ]; then
    used=$(cat /sys/fs/cgroup/memory.current)
    cached=$(sed -n 's/^inactive_file //p' /sys/fs/cgroup/memory.stat)
    limit=$(((limit - used + cached) / 1048576))
    [ "$limit" -ge "$free" ] || free=$limit
  fi
  echo "$free"
}

# Compilers at one time: as many as there are cores, and fewer where memory is short.
job_count() {
  local jobs=$(($(memory_mb) / compiler_mb)) cores
  cores=$(nproc)
  [ "$jobs" -le "$cores" ] || jobs=$cores
  [ "$jobs" -ge 1 ] || jobs=1
  echo "$jobs"
}
