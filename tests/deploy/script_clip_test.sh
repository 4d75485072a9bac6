#!/usr/bin/env bash
# The distribution's Python has PyTorch; another one on the path may not.
exec /usr/bin/python3 "$@"
