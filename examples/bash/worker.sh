#!/usr/bin/env bash
# A worker that needs only bash and curl. It claims tasks until the plan is done, renews its claim while it works, and
# submits the result. Exits with 1 if one of its results was not accepted, and with 2 if it cannot start. If the server
# is unreachable, it reports that after the first attempt and retries for about half a minute.
#
#   GENESIS_PROJECT=shop ./worker.sh
set -euo pipefail

project=${GENESIS_PROJECT:-}
[[ -n $project ]] || {
  echo "GENESIS_PROJECT is not set. Set it to a project id, for example GENESIS_PROJECT=shop." >&2
  exit 2
}
url=${GENESIS_URL:-http://127.0.0.1:4680}
api=$url/api/tenants/${GENESIS_TENANT:-default}/projects/$project
agent=${GENESIS_AGENT:-bash-worker}
session=$agent-$$
lease=${GENESIS_LEASE:-30}
headers=(-H 'content-type: application/json')
[[ -n ${GENESIS_TOKEN:-} ]] && headers+=(-H "authorization: Bearer $GENESIS_TOKEN")

# post PATH BODY: prints the reply. A refusal is also a reply; only an unreachable server is an error.
post() { curl --silent --show-error --retry 5 --retry-connrefused "${headers[@]}" --data "$2" "$api$1"; }

# field NAME JSON: prints the first string or number with that name.
field() { [[ $2 =~ \"$1\":\"?([^\",}]*) ]] && printf %s "${BASH_REMATCH[1]}"; }

reach() { curl --silent --output /dev/null "$@" "$url"; }
if ! reach; then
  echo "$url is not reachable: start it with gen up, or set GENESIS_URL. Retrying." >&2
  reach --retry 5 --retry-connrefused || { echo "$url does not respond." >&2; exit 2; }
fi

# no_task QUERY: succeeds if no task of the plan matches the query.
no_task() { [[ $(curl --silent --show-error "${headers[@]}" "$api/tasks?limit=1$1") == *'"tasks":[]'* ]]; }

no_task '' && { echo "$project has no tasks. Check the project id, or run gen plan import." >&2; exit 2; }

# keep HANDLE PID: renews the claim. If a renewal is refused, the claim is lost: stops the process that does the work.
keep() {
  while sleep $((lease / 3)); do
    reply=$(post /claims/renew "$1") || continue
    [[ $(field reason "$reply") == RENEWED ]] || { kill "$2" 2>/dev/null; return; }
  done
}

# Your work goes here. Its output is the result.
work() { printf '{"made":"%s","by":"%s"}' "$1" "$agent"; }

refused=0
while :; do
  asked="{\"agent_id\":\"$agent\",\"session_id\":\"$session\",\"lease_duration_seconds\":$lease,\"wait_seconds\":5}"
  grant=$(post /next "$asked")
  reason=$(field reason "$grant")
  if [[ $reason == NOTHING_READY ]]; then
    # Either all tasks are done, or the open ones are claimed by others or wait for their dependencies.
    no_task '&phase=OPEN' && break
    continue
  fi
  [[ $reason == GRANTED ]] || { echo "claim failed: $grant" >&2; exit 1; }

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
