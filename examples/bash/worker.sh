#!/usr/bin/env bash
# A worker in plain bash, with curl and nothing else. It takes work until the plan is done, renews its claim while it
# works, and hands in what it made. Ends with 1 when one of its results did not count, with 2 when it cannot begin. A
# server that is away is tried again for about half a minute, and said to be away after the first try.
#
#   GENESIS_PROJECT=shop ./worker.sh
set -euo pipefail

project=${GENESIS_PROJECT:-}
[[ -n $project ]] || { echo "Which project? Set GENESIS_PROJECT, for instance GENESIS_PROJECT=shop." >&2; exit 2; }
url=${GENESIS_URL:-http://127.0.0.1:4680}
api=$url/api/tenants/${GENESIS_TENANT:-default}/projects/$project
agent=${GENESIS_AGENT:-bash-worker}
session=$agent-$$
lease=${GENESIS_LEASE:-30}
headers=(-H 'content-type: application/json')
[[ -n ${GENESIS_TOKEN:-} ]] && headers+=(-H "authorization: Bearer $GENESIS_TOKEN")

# POST PATH BODY: the reply. A refusal is a reply too; only a server that cannot be reached is an error.
post() { curl --silent --show-error --retry 5 --retry-connrefused "${headers[@]}" --data "$2" "$api$1"; }

# field NAME JSON: the first string or number by that name.
field() { [[ $2 =~ \"$1\":\"?([^\",}]*) ]] && printf %s "${BASH_REMATCH[1]}"; }

reach() { curl --silent --output /dev/null "$@" "$url"; }
if ! reach; then
  echo "$url is not reachable: start it with gen up, or set GENESIS_URL. Trying again." >&2
  reach --retry 5 --retry-connrefused || { echo "$url does not answer." >&2; exit 2; }
fi

# no_task QUERY: whether the plan has no task of that kind.
no_task() { [[ $(curl --silent --show-error "${headers[@]}" "$api/tasks?limit=1$1") == *'"tasks":[]'* ]]; }

no_task '' && { echo "$project has no tasks. Is it the project’s name? gen plan import gives it some." >&2; exit 2; }

# Renews until it is refused; then the work is somebody else's, and whoever does it must stop.
keep() {
  while sleep $((lease / 3)); do
    reply=$(post /claims/renew "$1") || continue
    [[ $(field reason "$reply") == RENEWED ]] || { kill "$2" 2>/dev/null; return; }
  done
}

# The work itself: yours goes here. Its output is the result.
work() { printf '{"made":"%s","by":"%s"}' "$1" "$agent"; }

refused=0
while :; do
  asked="{\"agent_id\":\"$agent\",\"session_id\":\"$session\",\"lease_duration_seconds\":$lease,\"wait_seconds\":5}"
  grant=$(post /next "$asked")
  reason=$(field reason "$grant")
  if [[ $reason == NOTHING_READY ]]; then
    # Nothing is ready because all is done, or because others are at it.
    no_task '&phase=OPEN' && break
    continue
  fi
  [[ $reason == GRANTED ]] || { echo "no work: $grant" >&2; exit 1; }

  task=$(field task_id "$grant") generation=$(field generation "$grant") claim=$(field id "$grant")
  handle="\"task_id\":\"$task\",\"session_id\":\"$session\",\"claim_id\":\"$claim\""
  result=$(mktemp)
  work "$task" >"$result" &
  worker=$!
  keep "{$handle,\"expected_generation\":$generation}" "$worker" >/dev/null 2>&1 &
  keeper=$!
  wait "$worker" || true
  kill "$keeper" 2>/dev/null || true

  reply=$(post /results "{$handle,\"generation\":$generation,\"result_data\":$(cat "$result")}")
  rm -f "$result"
  echo "$task generation $generation: $(field reason "$reply")"
  [[ $reply == *'"accepted":true'* ]] || refused=$((refused + 1))
done
echo "All work of $project is done."
exit $((refused > 0))
