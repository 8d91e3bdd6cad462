#!/usr/bin/env python3
"""A worker in Python with nothing but its standard library.

It takes work until the plan is done, renews its claim from a thread of its own while it works, and hands in what it
made. Ends with 1 when one of its results did not count, with 2 when it cannot begin. A server that is away is tried
again for about half a minute, and said to be away after the first try.

    GENESIS_PROJECT=shop python3 worker.py
"""

import json
import os
import sys
import threading
import time
import urllib.error
import urllib.request
import uuid

URL = os.environ.get("GENESIS_URL", "http://127.0.0.1:4680")
TENANT = os.environ.get("GENESIS_TENANT", "default")
PROJECT = os.environ.get("GENESIS_PROJECT")
AGENT = os.environ.get("GENESIS_AGENT", "python-worker")
TOKEN = os.environ.get("GENESIS_TOKEN")
LEASE_SECONDS = int(os.environ.get("GENESIS_LEASE", "30"))
SESSION = f"{AGENT}-{uuid.uuid4()}"
API = f"{URL}/api/tenants/{TENANT}/projects/{PROJECT}"
TRIES = 10


def say(sentence):
    print(sentence, file=sys.stderr, flush=True)


def call(method, path, body=None):
    """The reply. A refusal is a reply too. What may have happened is asked again under the same request_id."""
    if body is not None:
        body = {"request_id": str(uuid.uuid4()), **body}
    headers = {"content-type": "application/json"}
    if TOKEN:
        headers["authorization"] = f"Bearer {TOKEN}"
    data = None if body is None else json.dumps(body).encode()
    for attempt in range(1, TRIES + 1):
        request = urllib.request.Request(API + path, data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as reply:
                return json.load(reply)
        except urllib.error.HTTPError as refusal:
            if refusal.code < 500:
                return json.load(refusal)
            problem = f"it answers {refusal.code}"
        except OSError as error:
            problem = getattr(error, "reason", error)
        if attempt == 1:
            say(f"{URL} is not reachable ({problem}): start it with gen up, or set GENESIS_URL. Trying again.")
        time.sleep(min(0.1 * 2**attempt, 5))
    say(f"{URL} does not answer.")
    sys.exit(2)


def keep(handle, lost, done):
    """Renews until the work is done, or until it is somebody else's."""
    while not done.wait(LEASE_SECONDS / 3):
        if not call("POST", "/claims/renew", handle)["success"]:
            lost.set()
            return


def work(task_id, briefing, lost):
    """Yours goes here. Look at `lost` now and then: once it is set, the work is somebody else's."""
    return {"made": briefing["description"], "by": AGENT}


def take():
    """The next grant; None when all work is done."""
    asked = {"agent_id": AGENT, "session_id": SESSION, "lease_duration_seconds": LEASE_SECONDS, "wait_seconds": 5}
    while True:
        grant = call("POST", "/next", asked)
        if grant.get("success"):
            return grant
        if grant.get("reason") != "NOTHING_READY":
            raise SystemExit(f"no work: {grant}")
        if not call("GET", "/tasks?phase=OPEN&limit=1")["tasks"]:
            return None


def main():
    if not PROJECT:
        say("Which project? Set GENESIS_PROJECT, for instance GENESIS_PROJECT=shop.")
        return 2
    if call("GET", "/tasks?limit=1").get("tasks") == []:
        say(f"{PROJECT} has no tasks. Is it the project’s name? gen plan import gives it some.")
        return 2
    refused = 0
    while (grant := take()) is not None:
        claim = grant["claim"]
        task_id, generation = claim["task_id"], claim["generation"]
        handle = {"task_id": task_id, "session_id": SESSION, "claim_id": claim["id"]}
        lost, done = threading.Event(), threading.Event()
        keeper = threading.Thread(
            target=keep, args=({**handle, "expected_generation": generation}, lost, done), daemon=True
        )
        keeper.start()
        result = work(task_id, grant["briefing"], lost)
        done.set()
        reply = call("POST", "/results", {**handle, "generation": generation, "result_data": result})
        print(f"{task_id} generation {generation}: {reply['reason']}", flush=True)
        refused += not reply["accepted"]
    print(f"All work of {PROJECT} is done.")
    return 1 if refused else 0


if __name__ == "__main__":
    sys.exit(main())
