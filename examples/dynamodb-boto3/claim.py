#!/usr/bin/env python3
"""Claims and releases an edge with boto3 only, in the DynamoDB tables of Genesis Fleet.

For a Lambda or a pipeline that cannot reach a coordinator. Each command is one conditional transaction, which writes
the claim, its event and the project's position together. No head is ever deleted. The reply to a refused claim names
the holder.

    GENESIS_STORE='dynamodb://eu-west-1/genesis_fleet' GENESIS_PROJECT=shop \\
        python3 claim.py claim REQ-F-AUTH-001 design_code --agent cicd-pipeline-42 --role tdd_engineer
    ... python3 claim.py release REQ-F-AUTH-001 design_code --agent cicd-pipeline-42 --generation 1

Prints one line of JSON. Exits with 0 on success and with 1 if the command was refused.
"""

import argparse
import hashlib
import json
import os
import random
import sys
import time
import uuid
import zlib
from datetime import datetime, timezone
from urllib.parse import parse_qs, quote, urlparse

import boto3
from botocore.exceptions import ClientError

STORE = urlparse(os.environ["GENESIS_STORE"])
PREFIX = STORE.path.strip("/") or "genesis_fleet"
TENANT = os.environ.get("GENESIS_TENANT", "default")
PROJECT = os.environ["GENESIS_PROJECT"]
LEASE_SECONDS = 3600
TRIES = 20
FOREVER_MS = 2**53 - 1

db = boto3.client("dynamodb", region_name=STORE.hostname, endpoint_url=parse_qs(STORE.query).get("endpoint", [None])[0])
STATE, LOG = f"{PREFIX}-state", f"{PREFIX}-log"
BUCKET_SIZE = 1024


# Keys. Names are escaped like JavaScript's encodeURIComponent does.


def escaped(name):
    return quote(name, safe="!'()*-._~")


TENANT_PART = f"T#{escaped(TENANT)}"
PROJECT_PART = f"{TENANT_PART}#P#{escaped(PROJECT)}"


def shard(text):
    return hashlib.sha256(text.encode()).hexdigest()[0]


def state_key(pk, sk):
    return {"pk": {"S": pk}, "sk": {"S": sk}}


ROW = state_key(PROJECT_PART, "ROW")


def head_key(subject):
    return state_key(f"{PROJECT_PART}#H#{shard(subject)}", subject)


def member_key(scope, member):
    sk = f"{escaped(PROJECT)}#{member}"
    return state_key(f"{TENANT_PART}#Q#{escaped(scope)}#{shard(sk)}", sk)


def share_key(scope):
    return state_key(f"{TENANT_PART}#Q#{escaped(scope)}", f"P#{escaped(PROJECT)}")


# Reads


def get(key):
    return db.get_item(TableName=STATE, Key=key, ConsistentRead=True).get("Item")


def read_row():
    item = get(ROW)
    names = ("row_version", "position", "rules_seq", "now_ms", "time_high_ms", "late_max_ms", "indexed_buckets")
    return {name: int(item[name]["N"]) if item else 0 for name in names}


def head_of(item):
    """Reads the head from an item, decompressing it if it is long. None if there is no item."""
    if not item:
        return None
    head = item["head"]
    return json.loads(head["S"] if "S" in head else zlib.decompress(head["B"], -zlib.MAX_WBITS))


# Writes. Each one has a condition; if it fails, DynamoDB returns the current item.


def iso(at_ms):
    at = datetime.fromtimestamp(at_ms / 1000, timezone.utc)
    return at.strftime("%Y-%m-%dT%H:%M:%S.") + f"{at_ms % 1000:03d}Z"


def put(table, item, condition=None, values=None):
    write = {"TableName": table, "Item": item, "ReturnValuesOnConditionCheckFailure": "ALL_OLD"}
    if condition:
        write["ConditionExpression"] = condition
    if values:
        write["ExpressionAttributeValues"] = values
    return {"Put": write}


def put_head(before, head):
    item = {**head_key(head["subject"]), "seq": {"N": str(head["seq"])}, "head": {"S": json.dumps(head)}}
    if before is None:
        return put(STATE, item, "attribute_not_exists(pk)")
    return put(STATE, item, "seq = :seq", {":seq": {"N": str(before["seq"])}})


def line_of(event):
    """The values of an event, without the names of its fields, and without the project, which is in the key."""
    names = ("event_id", "event_type", "timestamp", "agent_id", "payload", "subject", "seq", "session_id", "task_id",
             "generation", "request_id", "feature_id", "edge", "agent_role")  # fmt: skip
    return json.dumps([event.get(name) for name in names])


def put_events(events, row):
    """Puts the events of each bucket into one item, under the position of the last one. A coordinator indexes them."""
    pages = {}
    for position, event in enumerate(events, row["position"] + 1):
        pages.setdefault(position // BUCKET_SIZE, []).append((position, line_of(event)))
    return [put(LOG, page_item(bucket, lines, row)) for bucket, lines in pages.items()]


def page_item(bucket, lines, row):
    """One page of events, with the latest timestamp before it, by which a coordinator finds a time."""
    is_first = lines[0][0] == row["position"] + 1
    return {
        "pk": {"S": f"{PROJECT_PART}#E#{bucket}"},
        "sk": {"N": str(lines[-1][0])},
        "high_ms": {"N": str(row["time_high_ms"] if is_first else max(row["time_high_ms"], row["now_ms"]))},
        "events": {"S": "\n".join(line for _, line in lines)},
    }


def put_row(row, now_ms, events):
    """Increments the version, so only one transaction at a time can use the next positions."""
    new_row = {
        **row,
        "row_version": row["row_version"] + 1,
        "position": row["position"] + len(events),
        "now_ms": now_ms,
        "time_high_ms": max(row["time_high_ms"], now_ms),
        "late_max_ms": max(row["late_max_ms"], row["time_high_ms"] - now_ms),
    }
    item = {**ROW, **{name: {"N": str(value)} for name, value in new_row.items()}}
    if row["row_version"] == 0:
        return put(STATE, item, "attribute_not_exists(pk)")
    return put(STATE, item, "row_version = :v", {":v": {"N": str(row["row_version"])}})


def change_count(scope, by):
    """Updates the coordinator's count of live permits. This program checks no limit, but its permits must be counted."""
    values = {":by": {"N": str(by)}, ":minus": {"N": str(-by)}}
    expression = "ADD registered :by, spare :minus"
    return {"Update": {"TableName": STATE, "Key": share_key(scope), "UpdateExpression": expression, "ExpressionAttributeValues": values}}


def transact(row, now_ms, swaps, permits):
    """Writes heads and events together. Returns None on success, otherwise the reasons, in the order of the writes."""
    row = {**row, "now_ms": now_ms}
    writes = [put_row(row, now_ms, swaps)]
    writes += [put_head(before, head) for before, head, _ in swaps]
    writes += put_events([event for _, _, event in swaps], row)
    writes += permits
    if row["position"] == 0:
        entry = state_key(TENANT_PART, f"P#{escaped(PROJECT)}")
        writes.append(put(STATE, {**entry, "project_id": {"S": PROJECT}}))
    try:
        db.transact_write_items(TransactItems=writes, ClientRequestToken=str(uuid.uuid4()))
        return None
    except ClientError as error:
        if error.response["Error"]["Code"] != "TransactionCanceledException":
            raise
        return error.response["CancellationReasons"]


# Commands. Each returns the reply, the changed heads with their events, and the changed permits.


def event_of(kind, subject, seq, now_ms, args, payload, **fields):
    return {
        "event_id": str(uuid.uuid4()),
        "event_type": kind,
        "timestamp": iso(now_ms),
        "tenant_id": TENANT,
        "project_id": PROJECT,
        "subject": subject,
        "seq": seq,
        "agent_id": args.agent,
        "session_id": args.session,
        "payload": payload,
        **fields,
    }


def edge_event(kind, head, now_ms, args, payload):
    fields = {"feature_id": args.feature, "edge": args.edge, "agent_role": args.role, "generation": head["generation"]}
    return event_of(kind, head["subject"], head["seq"], now_ms, args, payload, **fields)


def open_session(now_ms, args):
    """The first claim of a session opens it."""
    subject = f"~session/{args.session}"
    if get(head_key(subject)):
        return []
    value = {"state": "open", "user_id": None, "created_at": iso(now_ms)}
    head = {"subject": subject, "seq": 1, "value": value, "last_at_ms": now_ms}
    return [(None, head, event_of("SESSION_OPENED", subject, 1, now_ms, args, {"record": value}))]


NO_HEAD = {"seq": 0, "generation": 0, "epoch": 0, "phase": "OPEN", "claim": None, "result": None, "hold": None, "gate": None,
           "failures": 0, "last_error": None, "retry_at_ms": None}  # fmt: skip


def refusal_code_of(head):
    """Returns why the edge cannot be claimed, or None. Expired claims are not taken over: a person releases them."""
    if head["phase"] == "COMPLETED":
        return "DENIED_COMPLETED"
    if head["hold"] is not None:
        return "DENIED_HELD"
    held = head["claim"] is not None and head["claim"]["state"] in ("ACTIVE", "SUSPENDED", "EXPIRED")
    return "DENIED_ACTIVE_CLAIM" if held else None


def claim(before, now_ms, args):
    head = {**NO_HEAD, **(before or {}), "subject": args.subject}
    refusal = refusal_code_of(head)
    if refusal:
        holder = head["claim"]["agent_id"] if refusal == "DENIED_ACTIVE_CLAIM" else None
        return {"success": False, "reason": refusal, "current_holder": holder, "generation": head["generation"]}, [], []
    expires_at_ms = now_ms + LEASE_SECONDS * 1000
    payload = {
        "previous_generation": head["generation"],
        "previous_state": head["claim"]["state"] if head["claim"] else "NONE",
        "lease_duration_seconds": LEASE_SECONDS,
        "expires_at": iso(expires_at_ms),
    }
    granted = {
        "state": "ACTIVE", "agent_id": args.agent, "session_id": args.session, "agent_role": args.role,
        "user_id": None, "request_id": None, "claimed_at_ms": now_ms, "lease_seconds": LEASE_SECONDS,
        "expires_at_ms": expires_at_ms, "active_at_ms": now_ms, "max_hold_until_ms": None,
        "suspended_until_ms": None, "stale": False, "release_reason": None, "inputs": None, "metadata": None,
    }  # fmt: skip
    after = {**head, "seq": head["seq"] + 1, "generation": head["generation"] + 1, "claim": granted, "last_at_ms": now_ms}
    permit = {**member_key("claims", args.subject), "until_ms": {"N": str(FOREVER_MS)}}
    permits = [put(STATE, permit, "attribute_not_exists(pk)"), change_count("claims", 1)]
    swaps = [*open_session(now_ms, args), (before, after, edge_event("edge_started", after, now_ms, args, payload))]
    return {"success": True, "reason": "GRANTED", "generation": after["generation"]}, swaps, permits


def release(before, now_ms, args):
    """Releases only the claim of this session and generation, so a zombie cannot release the claim of its successor."""
    held = before and before["claim"]
    if not held or held["state"] != "ACTIVE" or before["generation"] != args.generation or held["session_id"] != args.session:
        return {"success": False, "reason": "GENERATION_MISMATCH" if held else "NO_CLAIM"}, [], []
    released = {**held, "state": "RELEASED", "release_reason": "VOLUNTARY"}
    after = {**before, "seq": before["seq"] + 1, "claim": released, "last_at_ms": now_ms}
    key = member_key("claims", args.subject)
    delete_permit = {"Delete": {"TableName": STATE, "Key": key, "ConditionExpression": "attribute_exists(pk)"}}
    swaps = [(before, after, edge_event("edge_released", after, now_ms, args, {"reason": "VOLUNTARY"}))]
    return {"success": True, "reason": "RELEASED"}, swaps, [delete_permit, change_count("claims", -1)]


def main(args):
    decide = {"claim": claim, "release": release}[args.verb]
    # A claim first assumes that the edge has no head, which saves a read; if it has one, the failed write returns it.
    before = None if args.verb == "claim" else head_of(get(head_key(args.subject)))
    for attempt in range(TRIES):
        row = read_row()
        now_ms = max(int(time.time() * 1000), row["now_ms"])
        reply, swaps, permits = decide(before, now_ms, args)
        reasons = transact(row, now_ms, swaps, permits) if swaps else None
        if reasons is None:
            return reply
        head_reason = reasons[len(swaps)]  # writes: the row, then the heads; the edge's head is the last of them
        if head_reason["Code"] == "ConditionalCheckFailed":
            before = head_of(head_reason.get("Item"))
        time.sleep(random.random() * min(0.01 * 2**attempt, 1))
    return {"success": False, "reason": "UNAVAILABLE"}


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("verb", choices=("claim", "release"))
    parser.add_argument("feature")
    parser.add_argument("edge")
    parser.add_argument("--agent", required=True)
    parser.add_argument("--session")
    parser.add_argument("--role", default="full_stack")
    parser.add_argument("--generation", type=int)
    args = parser.parse_args()
    args.subject = f"{args.feature}#{args.edge}"
    args.session = args.session or f"{args.agent}-session"
    reply = main(args)
    print(json.dumps(reply))
    sys.exit(0 if reply["success"] else 1)
