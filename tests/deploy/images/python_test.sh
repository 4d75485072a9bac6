#!/usr/bin/env bash
# The distribution's Python, and no compiled files beside the sources.
exec /usr/bin/python3 -B "$@"
