#!/usr/bin/env bash
# An agent for `gen run`: it does one piece of work, which `gen run` claims, keeps and hands in. The briefing is a file
# of JSON, the result is whatever is written to $GENESIS_RESULT; any exit code but 0 gives the work back.
#
#   gen run --loop -- examples/run/agent.sh
set -euo pipefail

: "${GENESIS_TASK_ID:?is not set: start this with gen run -- $0}"

# The work itself: yours goes here, for instance a model that is told what "$GENESIS_BRIEFING" says.
printf '{"made":"%s","by":"%s"}\n' "$GENESIS_TASK_ID" "$GENESIS_AGENT" >"$GENESIS_RESULT"
