#!/usr/bin/env bash
# Puts the tools of tools.txt below ~/.cache/sightline/deploy and prints that folder: kubectl and
# promtool of Debian 13 as usr/bin/..., on Debian 12 as well, without touching the system; and
# the typed models of the API as models/...  A second run needs no network.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../../.." && pwd)
tools=${HOME:-/root}/.cache/sightline/deploy
release=trixie

say() { printf 'tools: %s\n' "$*" >&2; }
fail() { say "$*"; exit 1; }

lines() { sed -n "s/^$1 //p" "$here/tools.txt"; }

# Debian's own, whatever release this machine runs: every mirror that it takes packages from is
# asked.  An empty list of installed packages keeps apt from looking at this machine's.
fetch_packages() {  # FOLDER
  local work=$work/apt mirror
  mkdir -p "$work/lists/partial" "$work/cache/archives/partial"
  : >"$work/status"
  local apt=(apt-get -q -o "Dir::Etc::sourcelist=$work/sources.list" -o "Dir::Etc::sourceparts=-"
    -o "Dir::State::lists=$work/lists" -o "Dir::State::status=$work/status"
    -o "Dir::Cache=$work/cache" -o "APT::Sandbox::User=root")
  while read -r mirror; do
    echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $release main" >"$work/sources.list"
    # shellcheck disable=SC2046  # a word each
    if (cd "$work" && "${apt[@]}" update && "${apt[@]}" download $(lines deb)) &>"$work/log"; then
      break
    fi
  done < <(apt-get update --print-uris | sed -n "s|^'\(.*\)/dists/.*|\1|p" | awk '!seen[$0]++')
  local archive found=0
  for archive in "$work"/*.deb; do
    [ ! -f "$archive" ] || { dpkg-deb -x "$archive" "$1"; found=$((found + 1)); }
  done
  [ "$found" = "$(lines deb | wc -l)" ] || { cat "$work/log" >&2; fail "no mirror of this machine's apt sources has $(lines deb | tr '\n' ' ')of Debian's release $release"; }
}

fetch_models() {  # FOLDER
  local name version checksum archive
  command -v npm >/dev/null || "$root/deploy/bazel/setup.sh" "$here/npm_packages.txt"
  mkdir -p "$work/npm"
  while read -r name version checksum; do
    archive=$(cd "$work/npm" && npm pack --silent "$name@$version" 2>"$work/log") ||
      { cat "$work/log" >&2; fail "npm does not get $name $version"; }
    echo "$checksum  $work/npm/$archive" | sha512sum -c --quiet ||
      fail "$name $version has another checksum than the one in tools.txt"
    mkdir -p "$1/$name"
    tar -xzf "$work/npm/$archive" -C "$1/$name" --strip-components=1
  done < <(lines npm)
}

if ! cmp -s "$here/tools.txt" "$tools/tools.txt"; then
  say "fetching Debian 13's kubectl and promtool, and the models of Kubernetes's API"
  mkdir -p "${tools%/*}"
  work=$(mktemp -d "$tools.XXXXXX")
  trap 'rm -rf "$work"' EXIT
  fetch_packages "$work/new"
  fetch_models "$work/new/models"
  cp "$here/tools.txt" "$work/new/"
  rm -rf "$tools"
  mv "$work/new" "$tools"
fi
echo "$tools"
