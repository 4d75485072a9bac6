# shellcheck shell=bash
# Packages of Debian 13 on whatever release this machine runs, without touching the system; for
# scripts that source this.

# Unpacks below FOLDER what `apt-get ARGUMENTS` fetches: "download NAME...", or "install --yes
# --download-only NAME..." with all that those depend on.  Every mirror that this machine takes
# packages from is asked.  An empty list of installed packages keeps apt from looking at this
# machine's.  Prints how many packages there were; fails, with apt's words, if no mirror has them.
unpack_debian13() {  # FOLDER ARGUMENTS...
  local folder=$1 work mirror archive found=0
  shift
  work=$(mktemp -d)
  mkdir -p "$work/lists/partial" "$work/cache/archives/partial"
  : >"$work/status"
  local apt=(apt-get -q -o "Dir::Etc::sourcelist=$work/sources.list" -o "Dir::Etc::sourceparts=-"
    -o "Dir::State::lists=$work/lists" -o "Dir::State::status=$work/status"
    -o "Dir::Cache=$work/cache" -o "APT::Sandbox::User=root")
  while read -r mirror; do
    echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror trixie main" >"$work/sources.list"
    if (cd "$work" && "${apt[@]}" update && "${apt[@]}" "$@") &>"$work/log"; then
      break
    fi
  done < <(apt-get update --print-uris | sed -n "s|^'\(.*\)/dists/.*|\1|p" | awk '!seen[$0]++')
  for archive in "$work"/*.deb "$work"/cache/archives/*.deb; do
    [ ! -f "$archive" ] || { dpkg-deb -x "$archive" "$folder"; found=$((found + 1)); }
  done
  [ "$found" -gt 0 ] || {
    cat "$work/log" >&2
    echo "no mirror of this machine's apt sources has what was asked of Debian 13: $*" >&2
  }
  rm -rf "$work"
  echo "$found"
}
