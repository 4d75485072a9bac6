#!/usr/bin/env bash
# The distribution's Python, and no compiled files beside the sources.
export PYTHONPATH=$PWD/tests/deploy  # cases.py
exec /usr/bin/python3 -B "$@"
