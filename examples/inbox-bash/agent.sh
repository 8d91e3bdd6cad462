#!/usr/bin/env bash
# An agent in plain bash, without a server: it moves commands into its inbox and waits for their outcomes. It claims an
# edge of a feature, does the work, and hands in the result. Ends with 1 when the edge is somebody else's.
#
#   ./agent.sh REQ-F-AUTH-001 design_code
set -euo pipefail

feature=${1:?say which feature} edge=${2:?say which edge}
agent=${GENESIS_AGENT:-bash-agent} events=${GENESIS_WORKSPACE:-.ai-workspace}/events
inbox=$events/inbox/$agent outcome=$events/outcome/$agent
mkdir -p "$inbox"
count=0

# ask FIELDS: drops a command under a name that is used once, whole files only, and prints its outcome.
ask() {
  count=$((count + 1))
  local name=$EPOCHREALTIME-$$-$count.json
  printf '{"feature":"%s","edge":"%s",%s}' "$feature" "$edge" "$1" >"$inbox/.$name.tmp"
  mv "$inbox/.$name.tmp" "$inbox/$name"
  local tell_at=$((SECONDS + 3))
  until [[ -e $outcome/$name ]]; do
    if ((SECONDS >= tell_at)); then
      echo "nobody has answered $inbox/$name yet: is gen serialise --watch or gen up running here? Waiting." >&2
      tell_at=$((SECONDS + 60))
    fi
    sleep 0.05
  done
  cat "$outcome/$name"
}

# field NAME JSON: the first string or number by that name.
field() { [[ $2 =~ \"$1\":(\"([^\"]*)\"|[0-9]+) ]] && printf %s "${BASH_REMATCH[2]:-${BASH_REMATCH[1]}}"; }

grant=$(ask '"event_type":"edge_claim","agent_role":"full_stack"')
[[ $(field reason "$grant") == GRANTED ]] || { echo "not ours: $(field next "$grant")" >&2; exit 1; }
generation=$(field generation "$grant")

# The work itself: yours goes here. A long one sends heartbeats in between.
ask "\"event_type\":\"heartbeat\",\"generation\":$generation" >/dev/null
ask "\"event_type\":\"iteration_completed\",\"generation\":$generation,\"iteration\":1,\"status\":\"iterating\"" >/dev/null

reply=$(ask "\"event_type\":\"edge_converged\",\"generation\":$generation,\"result\":{\"made_by\":\"$agent\"}")
next=$(field next "$reply") || true
echo "$feature $edge generation $generation: $(field reason "$reply")${next:+ $next}"
[[ $reply == *'"accepted":true'* ]]
