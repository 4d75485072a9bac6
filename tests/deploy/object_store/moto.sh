#!/usr/bin/env bash
# Starts moto, a store that others have written, of Debian 13 with a Python of its own: prints its
# endpoint in a line, and serves a bucket of the name "bucket" until it is ended.  What it keeps is
# in its memory.  A second run needs no network.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=${HOME:-/root}/.cache/sightline/moto
packages=(python3-moto python3-flask-cors)
# shellcheck source=tests/deploy/debian13.sh
. "$here/../debian13.sh"

if [ "$(cat "$root/packages" 2>/dev/null)" != "${packages[*]}" ]; then
  echo "moto: fetching Debian 13's python3-moto" >&2
  mkdir -p "${root%/*}"
  work=$(mktemp -d "$root.XXXXXX")
  trap 'rm -rf "$work"' EXIT
  [ "$(unpack_debian13 "$work" install --yes --no-install-recommends --download-only "${packages[@]}")" != 0 ]
  echo "${packages[*]}" >"$work/packages"
  rm -rf "$root"
  chmod 755 "$work"
  mv "$work" "$root"
fi
# By its own loader, so that it finds its own libraries and no other's.
export PYTHONHOME=$root/usr PYTHONPATH=$root/usr/lib/python3/dist-packages PYTHONDONTWRITEBYTECODE=1
exec "$root/usr/lib64/ld-linux-x86-64.so.2" --library-path "$root/usr/lib/x86_64-linux-gnu" \
  "$root/usr/bin/python3" "$here/moto_server.py"
