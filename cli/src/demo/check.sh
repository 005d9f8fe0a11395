#!/bin/sh
# Runs every test there is.
set -eu
for test in tests/*.sh; do
    [ -e "$test" ] || continue
    sh "$test"
    echo "ok: $test"
done
