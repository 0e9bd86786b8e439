#!/bin/sh
# Starts the service with the options of V8 that were measured for it; arguments are more options of Node.
# SIGUSR1 opens no inspector, where Node has the option; bin/receiver.js ignores the signal as soon as it runs.
node --disable-sigusr1 --version >/dev/null 2>&1 && set -- --disable-sigusr1 "$@"
# The heap may grow further between collections; a small young generation; one thread of V8 beside the main one. What was compiled
# stays: after a quiet half minute V8 would throw it away, and the next burst took a fifth longer.
exec node --heap-growing-percent=120 --max-semi-space-size=8 --v8-pool-size=1 --no-flush-bytecode "$@" "$(dirname "$0")/receiver.js" start
