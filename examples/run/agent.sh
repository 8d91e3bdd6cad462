#!/usr/bin/env bash
# An agent for `gen run`: it works on one task. `gen run` claims the task, renews the claim and submits the result. The
# briefing is a JSON file; the result is what the agent writes to $GENESIS_RESULT. Any exit code but 0 releases the task.
#
#   gen run --loop -- examples/run/agent.sh
set -euo pipefail

: "${GENESIS_TASK_ID:?is not set: start this with gen run -- $0}"

# Your work goes here, for example a model that gets the content of "$GENESIS_BRIEFING".
printf '{"made":"%s","by":"%s"}\n' "$GENESIS_TASK_ID" "$GENESIS_AGENT" >"$GENESIS_RESULT"
