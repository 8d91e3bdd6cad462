#!/usr/bin/env bash
# A worker that needs only bash, curl and sha256sum (or shasum). It claims tasks until the plan is done, renews its claim
# while it works, and submits the result, as a blob if it is large. If the work fails, it releases the task with the error.
# Exits with 1 if work failed or a result was not accepted, and with 2 if it cannot start. If the server is unreachable,
# it reports that after the first attempt and retries for about half a minute.
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
agent=${GENESIS_AGENT:-bash-worker-$(printf %04x "$RANDOM")}
session=$agent-$$
lease=${GENESIS_LEASE:-30}
headers=()
[[ -n ${GENESIS_TOKEN:-} ]] && headers+=(-H "authorization: Bearer $GENESIS_TOKEN")

# A larger result is sent as a blob: the body of a request has at most 1 MiB.
inline_bytes_max=$((512 * 1024))
scratch=$(mktemp -d)
# A background process inherits this trap until it resets it, so the trap removes the folder only in the worker itself.
trap '[[ ${BASHPID:-$$} != "$$" ]] || rm -rf "$scratch"' EXIT

# post PATH: sends the JSON on standard input and prints the reply, which may be a refusal. Fails only if the server is
# unreachable. The body is not an argument, because arguments are limited in size.
post() {
  curl --silent --show-error --retry 5 --retry-connrefused ${headers[@]+"${headers[@]}"} \
    -H 'content-type: application/json' --data-binary @- "$api$1"
}

# put_blob FILE SHA256: uploads the content of a file.
put_blob() {
  curl --silent --show-error --fail --retry 5 --retry-connrefused ${headers[@]+"${headers[@]}"} \
    -H 'content-type: application/octet-stream' --upload-file "$1" "$api/blobs/$2"
}

sha256() { if command -v sha256sum >/dev/null; then sha256sum; else shasum -a 256; fi | cut -d ' ' -f 1; }

# json_text TEXT: prints the text as the content of a JSON string.
json_text() {
  local text
  text=$(printf %s "$1" | LC_ALL=C tr -c '[:print:]' ' ')
  text=${text//\\/\\\\}
  printf %s "${text//\"/\\\"}"
}

# field NAME JSON: prints the first string or number with that name.
field() { [[ $2 =~ \"$1\":\"?([^\",}]*) ]] && printf %s "${BASH_REMATCH[1]}"; }

# object NAME JSON: prints the first object with that name.
object() {
  local LC_ALL=C json=${2#*\"$1\":} depth=0 in_string='' at char
  for ((at = 0; at < ${#json}; at++)); do
    char=${json:at:1}
    if [[ $char == '\' ]]; then
      at=$((at + 1))
    elif [[ $char == '"' ]]; then
      if [[ $in_string ]]; then in_string=''; else in_string=1; fi
    elif [[ ! $in_string && $char == '{' ]]; then
      depth=$((depth + 1))
    elif [[ ! $in_string && $char == '}' ]]; then
      depth=$((depth - 1))
      ((depth > 0)) || { printf %s "${json:0:at+1}"; return; }
    fi
  done
}

reach() { curl --silent --output /dev/null "$@" "$url"; }
if ! reach; then
  echo "$url is not reachable: start it with gen up, or set GENESIS_URL. Retrying." >&2
  reach --retry 5 --retry-connrefused || { echo "$url does not respond." >&2; exit 2; }
fi

status=$(curl --silent --show-error ${headers[@]+"${headers[@]}"} "$api/status")
[[ $(field code "$status") == UNKNOWN_PROJECT ]] && { field detail "$status" >&2; exit 2; }

# renew_until_done HANDLE PID: renews the claim. If a renewal is refused, the claim is lost, so it stops the process that
# does the work.
renew_until_done() {
  trap - EXIT
  while sleep $((lease / 3)); do
    reply=$(post /claims/renew <<<"$1") || continue
    [[ $(field reason "$reply") == RENEWED ]] || { touch "$scratch/lost"; kill "$2" 2>/dev/null; return; }
  done
}

# submit HANDLE GENERATION FILE: submits the result in a file, and prints the reply.
submit() {
  if (($(wc -c <"$3") <= inline_bytes_max)); then
    { printf '{%s,"generation":%s,"result_data":' "$1" "$2"; cat "$3"; printf '}'; } | post /results
  else
    local hash
    hash=$(sha256 <"$3")
    put_blob "$3" "$hash" >/dev/null && post /results <<<"{$1,\"generation\":$2,\"blob_sha256\":\"$hash\"}"
  fi
}

# Your work goes here: TASK_ID, and a file with the briefing as JSON (description, instructions, notes, results of the
# tasks before it). What it prints is the result, as JSON. If it fails, what it prints on standard error is the error.
work() { printf '{"made":"%s","by":"%s"}' "$1" "$agent"; }

failed=0
while :; do
  grant=$(post /next <<<"{\"agent_id\":\"$agent\",\"session_id\":\"$session\",\"lease_duration_seconds\":$lease,\"wait_seconds\":5}")
  reason=$(field reason "$grant")
  if [[ $reason == NOTHING_READY ]]; then
    # Either all tasks are done, or the open ones are claimed by others or wait for their dependencies.
    [[ $(field done "$grant") == true ]] && break
    continue
  fi
  [[ $reason == GRANTED ]] || { echo "claim failed: $grant" >&2; exit 1; }

  task=$(field task_id "$grant") generation=$(field generation "$grant") claim=$(field id "$grant")
  handle="\"task_id\":\"$task\",\"session_id\":\"$session\",\"claim_id\":\"$claim\""
  rm -f "$scratch"/*
  object briefing "$grant" >"$scratch/briefing"
  { trap - EXIT; work "$task" "$scratch/briefing"; } >"$scratch/result" 2>"$scratch/errors" &
  worker=$!
  renew_until_done "{$handle,\"expected_generation\":$generation}" "$worker" >/dev/null 2>&1 &
  renewal=$!
  status=0 reply='' error=''
  wait "$worker" || status=$?
  kill "$renewal" 2>/dev/null || true
  cat "$scratch/errors" >&2

  if [[ -e $scratch/lost ]]; then
    echo "$task generation $generation: lost"
  elif ((status != 0)); then
    error="exit code $status: $(tail -c 1500 "$scratch/errors")"
  else
    reply=$(submit "$handle" "$generation" "$scratch/result") || true
    # A problem is not a decision about the task: the request itself was wrong, for example the result is not JSON.
    [[ $reply == *'"accepted":'* ]] || error="the result was refused: ${reply:0:1500}"
  fi
  if [[ -n $error ]]; then
    post /claims/release >/dev/null \
      <<<"{$handle,\"expected_generation\":$generation,\"reason\":\"ERROR\",\"message\":\"$(json_text "$error")\"}" || true
    echo "$task generation $generation: released, $error"
  elif [[ -n $reply ]]; then
    echo "$task generation $generation: $(field reason "$reply")"
  fi
  [[ $reply == *'"accepted":true'* ]] || failed=$((failed + 1))
done
echo "All work of $project is done."
exit $((failed > 0))
