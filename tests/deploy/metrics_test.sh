#!/usr/bin/env bash
# Servers are started, and what they export is compared with what is listed.
exec /usr/bin/python3 "$@"
