#!/usr/bin/env bash
# Puts the tools of tools.txt below ~/.cache/sightline/deploy and prints that folder: kubectl and
# promtool of Debian 13 as usr/bin/..., on Debian 12 as well, without touching the system; and
# the typed models of the API as models/...  A second run needs no network.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../../.." && pwd)
tools=${HOME:-/root}/.cache/sightline/deploy
# shellcheck source=tests/deploy/debian13.sh
. "$here/../debian13.sh"

say() { printf 'tools: %s\n' "$*" >&2; }
fail() { say "$*"; exit 1; }

lines() { sed -n "s/^$1 //p" "$here/tools.txt"; }

fetch_packages() {  # FOLDER
  # shellcheck disable=SC2046  # a word each
  [ "$(unpack_debian13 "$1" download $(lines deb))" = "$(lines deb | wc -l)" ] || exit 1
}

fetch_models() {  # FOLDER
  local name version checksum archive
  command -v npm >/dev/null || "$root/deploy/bazel/setup.sh" "$here/npm_packages.txt"
  mkdir -p "$work/npm"
  while read -r name version checksum; do
    archive=$(cd "$work/npm" && npm pack --loglevel error "$name@$version" 2>"$work/log") ||
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
