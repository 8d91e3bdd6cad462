#!/usr/bin/env bash
# An agent in plain bash, without a server: it moves command files into its inbox and waits for their outcome files. It
# claims an edge of a feature, does the work and submits the result. Exits with 1 if the claim is refused or the result
# is not accepted.
#
#   ./agent.sh REQ-F-AUTH-001 design_code
set -euo pipefail

feature=${1:?pass a feature id} edge=${2:?pass an edge}
agent=${GENESIS_AGENT:-bash-agent} events=${GENESIS_WORKSPACE:-.ai-workspace}/events
inbox=$events/inbox/$agent outcome=$events/outcome/$agent
mkdir -p "$inbox"
count=0

# send_command FIELDS: sends a command and prints its outcome. The file has a unique name, and is complete when it is moved.
send_command() {
  count=$((count + 1))
  local name=$EPOCHREALTIME-$$-$count.json
  printf '{"feature":"%s","edge":"%s",%s}' "$feature" "$edge" "$1" >"$inbox/.$name.tmp"
  mv "$inbox/.$name.tmp" "$inbox/$name"
  local report_at=$((SECONDS + 3))
  until [[ -e $outcome/$name ]]; do
    if ((SECONDS >= report_at)); then
      echo "no outcome for $inbox/$name yet: is gen serialise --watch or gen up running here? Waiting." >&2
      report_at=$((SECONDS + 60))
    fi
    sleep 0.05
  done
  cat "$outcome/$name"
}

# field NAME JSON: prints the first string or number with that name.
field() { [[ $2 =~ \"$1\":(\"([^\"]*)\"|[0-9]+) ]] && printf %s "${BASH_REMATCH[2]:-${BASH_REMATCH[1]}}"; }

grant=$(send_command '"event_type":"edge_claim","agent_role":"full_stack"')
[[ $(field reason "$grant") == GRANTED ]] || { echo "claim refused: $(field next "$grant")" >&2; exit 1; }
generation=$(field generation "$grant")

# Your work goes here. If it takes long, send heartbeats meanwhile.
send_command "\"event_type\":\"heartbeat\",\"generation\":$generation" >/dev/null
send_command "\"event_type\":\"iteration_completed\",\"generation\":$generation,\"iteration\":1,\"status\":\"iterating\"" >/dev/null

reply=$(send_command "\"event_type\":\"edge_converged\",\"generation\":$generation,\"result\":{\"made_by\":\"$agent\"}")
next=$(field next "$reply") || true
echo "$feature $edge generation $generation: $(field reason "$reply")${next:+ $next}"
[[ $reply == *'"accepted":true'* ]]
