#!/usr/bin/env bash
# The small sightlinectl needs no library that neither the router needs nor speaking with an object
# store.
# usage: small_test.sh SIGHTLINECTL_SMALL ROUTER
set -euo pipefail
libraries() { ldd "$1" | awk '/=>|^\t\// {print $1}'; }
path_of() { ldd "$2" | awk -v name="$1" 'index($1, name) == 1 {print $3}'; }
curl=$(path_of libcurl.so "$1") pugixml=$(path_of libpugixml.so "$1")
for program in "$2" "$curl" "$pugixml"; do
  [ -n "$(libraries "$program")" ] || { echo "ldd says nothing of $program"; exit 1; }
done
{
  for program in "$2" "$curl" "$pugixml"; do libraries "$program"; done
  basename -a "$curl" "$pugixml"
} | sort -u >"$TEST_TMPDIR/known"
more=$(libraries "$1" | sort -u | comm -23 - "$TEST_TMPDIR/known")
[ -z "$more" ] || { echo "the router's image would need more:"; echo "$more"; exit 1; }
