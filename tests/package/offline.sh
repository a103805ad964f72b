#!/bin/sh
# usage: offline.sh COMMAND...
# Runs a test where there is no network. Where the system makes no such place, runs it as it is, saying so.

set -eu
if unshare -rn true 2>/dev/null; then
  exec unshare -rn "$@"
fi
echo 'left out: the proof that no network is needed, as unshare -rn does not work here'
exec "$@"
