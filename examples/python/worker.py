#!/usr/bin/env python3
"""A worker that needs only Python's standard library.

It claims tasks until the plan is done, renews its claim in a separate thread while it works, and submits the result,
as a blob if it is large. If the work raises an exception, it releases the task with the error. Exits with 1 if work failed or
a result was not accepted, and with 2 if it cannot start. If the server is unreachable, it reports that after the first
attempt and retries for about half a minute.

    GENESIS_PROJECT=shop python3 worker.py
"""

import hashlib
import json
import os
import sys
import threading
import time
import traceback
import urllib.error
import urllib.request
import uuid

URL = os.environ.get("GENESIS_URL", "http://127.0.0.1:4680")
TENANT = os.environ.get("GENESIS_TENANT", "default")
PROJECT = os.environ.get("GENESIS_PROJECT")
AGENT = os.environ.get("GENESIS_AGENT") or f"python-worker-{uuid.uuid4().hex[:4]}"
TOKEN = os.environ.get("GENESIS_TOKEN")
LEASE_SECONDS = int(os.environ.get("GENESIS_LEASE", "30"))
SESSION = f"{AGENT}-{uuid.uuid4()}"
API = f"{URL}/api/tenants/{TENANT}/projects/{PROJECT}"
TRIES = 10
# A larger result is sent as a blob: the body of a request has at most 1 MiB.
INLINE_BYTES_MAX = 512 * 1024


def report(message):
    print(message, file=sys.stderr, flush=True)


def call(method, path, body=None):
    """Returns the reply, which may be a refusal. Retries use the same request_id, so the command takes effect once."""
    if body is not None:
        body = json.dumps({"request_id": str(uuid.uuid4()), **body}).encode()
    return send(method, path, body, "application/json")


def send(method, path, data, content_type):
    headers = {"content-type": content_type}
    if TOKEN:
        headers["authorization"] = f"Bearer {TOKEN}"
    for attempt in range(1, TRIES + 1):
        request = urllib.request.Request(API + path, data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as reply:
                return json.load(reply)
        except urllib.error.HTTPError as refusal:
            if refusal.code < 500:
                return json.load(refusal)
            problem = f"HTTP {refusal.code}"
        except OSError as error:
            problem = getattr(error, "reason", error)
        if attempt == 1:
            report(f"{URL} is not reachable ({problem}): start it with gen up, or set GENESIS_URL. Retrying.")
        time.sleep(min(0.1 * 2**attempt, 5))
    report(f"{URL} does not respond. Start it with gen up, or set GENESIS_URL.")
    sys.exit(2)


def renew_until_done(handle, lost, done):
    """Renews the claim until the work is done. Sets `lost` if a renewal is refused."""
    while not done.wait(LEASE_SECONDS / 3):
        if not call("POST", "/claims/renew", handle)["success"]:
            lost.set()
            return


def work(task_id, briefing, lost):
    """Your work goes here. The briefing has the description, instructions, notes, and results of the tasks before it.

    Check `lost` from time to time: once it is set, the claim is lost and the work must stop.
    """
    return {"made": briefing["description"], "by": AGENT}


def claim_next():
    """Claims the next task and returns the grant; None if all work is done."""
    request = {"agent_id": AGENT, "session_id": SESSION, "lease_duration_seconds": LEASE_SECONDS, "wait_seconds": 5}
    while True:
        grant = call("POST", "/next", request)
        if grant.get("success"):
            return grant
        if grant.get("reason") != "NOTHING_READY":
            raise SystemExit(f"claim failed: {grant}")
        if grant["done"]:
            return None


def submit(handle, generation, result):
    """Submits the result, and returns the reply."""
    data = json.dumps(result).encode()
    content = {"result_data": result}
    if len(data) > INLINE_BYTES_MAX:
        sha256 = hashlib.sha256(data).hexdigest()
        stored = send("PUT", f"/blobs/{sha256}", data, "application/octet-stream")
        if "code" in stored:
            return stored
        content = {"blob_sha256": sha256}
    return call("POST", "/results", {**handle, "generation": generation, **content})


def work_on(grant):
    """Works on a granted task. Returns what became of it; `ACCEPTED` if the result was accepted."""
    claim, briefing = grant["claim"], grant["briefing"]
    task_id, generation = claim["task_id"], claim["generation"]
    handle = {"task_id": task_id, "session_id": SESSION, "claim_id": claim["id"]}
    renewal = {**handle, "expected_generation": generation}
    lost, done = threading.Event(), threading.Event()
    threading.Thread(target=renew_until_done, args=(renewal, lost, done), daemon=True).start()
    try:
        result = work(task_id, briefing, lost)
        if lost.is_set():
            return "lost"
        reply = submit(handle, generation, result)
        if "reason" in reply:
            return reply["reason"]
        # A problem is not a decision about the task: the request itself was wrong.
        error = f"the result was refused: {reply.get('detail')}"
    except Exception as failure:
        traceback.print_exc()
        error = f"{type(failure).__name__}: {failure}"
    finally:
        done.set()
    call("POST", "/claims/release", {**renewal, "reason": "ERROR", "message": error[:1500]})
    return f"released, {error}"


def main():
    if not PROJECT:
        report("GENESIS_PROJECT is not set. Set it to a project id, for example GENESIS_PROJECT=shop.")
        return 2
    status = call("GET", "/status")
    if status.get("code") == "UNKNOWN_PROJECT":
        report(status["detail"])
        return 2
    failed = 0
    while (grant := claim_next()) is not None:
        outcome = work_on(grant)
        claim = grant["claim"]
        print(f"{claim['task_id']} generation {claim['generation']}: {outcome}", flush=True)
        failed += outcome != "ACCEPTED"
    print(f"All work of {PROJECT} is done.")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
