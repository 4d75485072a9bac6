#!/usr/bin/env bash
# Makes a machine of Debian 12 or 13 able to build Sightline: installs the packages of
# packages.txt and puts FAISS's source archive where Bazel's --distdir finds it.  Does nothing
# that is done already, so a second run takes a second and needs no network.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
distfiles=${HOME:-/root}/.cache/sightline/distfiles
# The version, the Debian release whose source package has it, and the checksum that
# repositories.bzl names as well.
faiss_version=1.7.3
faiss_release=bookworm
faiss_archive=$distfiles/v$faiss_version.tar.gz
faiss_sha256=3e4fac26d8c9e9008ecea4ae5fc414c658998fce4ba75835058b1a71d3516002

say() { printf 'setup: %s\n' "$*" >&2; }
fail() { say "$*"; exit 1; }

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

# What is left to do by hand for somebody who may not install packages.
check_root() {
  [ "$(id -u)" = 0 ] || command -v sudo >/dev/null ||
    fail "packages are missing, and $(id -un) is not root and has no sudo; as root, run: apt-get update && apt-get install --no-install-recommends $(tr '\n' ' ' <<<"$1")"
}

# The packages of these lists that are meant for this release; "NAME [bookworm]" is for
# that one alone.
packages_of() {
  local release
  # shellcheck disable=SC1091
  release=$(. /etc/os-release && echo "${DEBIAN_CODENAME:-${VERSION_CODENAME:-}}")
  sed 's/#.*//' "$@" | awk -v only="[$release]" 'NF == 1 || $2 == only {print $1}'
}

install_packages() {
  local wanted missing
  wanted=$(packages_of "$@")
  # dpkg-query fails when it does not know a package, which is what we want to hear of.
  # shellcheck disable=SC2086  # one word per package is meant
  missing=$({ dpkg-query -W -f '${db:Status-Abbrev} ${Package}\n' $wanted 2>/dev/null || true; } |
    awk '$1 == "ii" {print $2}' | sort -u | comm -13 - <(sort -u <<<"$wanted"))
  [ -n "$missing" ] || return 0
  check_root "$missing"
  say "installing $(wc -l <<<"$missing") packages"
  as_root apt-get update -q >/dev/null || fail "apt-get update failed; is the package mirror reachable?"
  # Upgrades that a new machine does by itself may hold the lock for a while; sudo does not
  # pass the environment on.
  # shellcheck disable=SC2086
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends \
    -o DPkg::Lock::Timeout=600 $missing >/dev/null ||
    fail "could not install: $(tr '\n' ' ' <<<"$missing"); apt's reason is above.  Is the package mirror reachable, and one of Debian 12 or 13?  Is the disk full?  After an interrupted installation, run as root: dpkg --configure -a"
}

# The upstream archive, as Debian's source package carries it.  Every mirror that this machine
# takes packages from is asked, whatever release it runs: mirrors hold both.
fetch_faiss() {
  if [ -f "$faiss_archive" ] && echo "$faiss_sha256  $faiss_archive" | sha256sum -c --quiet 2>/dev/null; then
    return 0
  fi
  say "fetching FAISS's source archive"
  mkdir -p "$distfiles"
  local work mirror
  work=$(mktemp -d)
  # shellcheck disable=SC2064  # the folder of now is meant
  trap "rm -rf '$work'" EXIT
  mkdir -p "$work/lists/partial"
  local apt=(apt-get -q -o "Dir::Etc::sourcelist=$work/sources.list" -o "Dir::Etc::sourceparts=-"
    -o "Dir::State::lists=$work/lists" -o "APT::Sandbox::User=root")
  while read -r mirror; do
    echo "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $faiss_release main" >"$work/sources.list"
    if (cd "$work" && "${apt[@]}" update && "${apt[@]}" source --download-only --only-source faiss) &>/dev/null; then
      break
    fi
  done < <(apt-get update --print-uris | sed -n "s|^'\(.*\)/dists/.*|\1|p" | awk '!seen[$0]++')
  local found=$work/faiss_$faiss_version.orig.tar.gz
  [ -f "$found" ] ||
    fail "no mirror of this machine's apt sources has the source package faiss $faiss_version of Debian's release $faiss_release; put the archive of FAISS $faiss_version (SHA-256 $faiss_sha256) at $faiss_archive yourself"
  echo "$faiss_sha256  $found" | sha256sum -c --quiet ||
    fail "${found##*/} has another checksum than the one pinned in repositories.bzl"
  mv "$found" "$faiss_archive"
}

grep -qw avx2 /proc/cpuinfo || fail "this CPU lacks AVX2; Sightline is built for x86-64-v3"
install_packages "$here/packages.txt" "$@"
fetch_faiss
