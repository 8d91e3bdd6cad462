"""Checks a proof of Genesis Fleet, with nothing but Python 3.8: check_proof.py PROOF.json [--key KEY_ID]"""
import json, re, sys
from primitives import b64, raw, sha, verify
ID, TIME = r"[A-Za-z0-9_][A-Za-z0-9._~@+-]{0,127}", r"[0-9]{4}(-[0-9]{2}){2}T[0-9]{2}(:[0-9]{2}){2}\.[0-9]{3}Z"
B32, B64, TEXT = r"[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]", r"[A-Za-z0-9_-]{85}[AQgw]", "[^\ud800-\udfff]*"
SIGNED = {"format": "genesis-fleet checkpoint 1", "tenant_id": ID, "project_id": ID, "incarnation": 0, "position": 1,
          "root": B32, "time": TIME, "key_id": "[0-9a-f]{16}"}  # the lines of the signed text, in this order
ANCHOR = {**SIGNED, "public_key": B32, "signature": B64}
INCLUSION = {"format": "genesis-fleet inclusion proof 1", "checkpoint": ANCHOR, "leaf": TEXT, "index": 0, "path": [B32]}
CONSISTENCY = {"format": "genesis-fleet consistency proof 1", "from": ANCHOR, "to": ANCHOR, "path": [B32]}
def fits(value, shape):  # a shape is a pattern, the smallest integer, a list of at most 64, or an object
    if isinstance(shape, str): return isinstance(value, str) and re.fullmatch(shape, value) is not None
    if isinstance(shape, int): return type(value) is int and value >= shape
    if isinstance(shape, list): return isinstance(value, list) and len(value) <= 64 and all(fits(v, shape[0]) for v in value)
    return isinstance(value, dict) and value.keys() == shape.keys() and all(fits(value[k], shape[k]) for k in shape)

def parse(text):  # None: not JSON, or a name occurs twice (`int` raises). Numbers are doubles, as in JavaScript.
    number = lambda s: int(float(s)) if float(s).is_integer() and abs(float(s)) < 2**53 else float(s)
    members = lambda pairs: dict(pairs) if len(dict(pairs)) == len(pairs) else int("twice")
    try: return json.loads(text, parse_int=number, parse_float=number, parse_constant=int, object_pairs_hook=members)
    except (ValueError, RecursionError): return None

def climb(at, last, small, large, path):  # the roots of both trees: RFC 9162, 2.1.3.2 and 2.1.4.2
    for h in path:
        if last == 0: return None, None
        if at % 2 or at == last:
            small, large = sha(b"\1" + h + small), sha(b"\1" + h + large)
            while at and at % 2 == 0: at, last = at // 2, last // 2
        else: large = sha(b"\1" + large + h)
        at, last = at // 2, last // 2
    return (small, large) if last == 0 else (None, None)

def check(text, key=None):  # "ok", or the code of the first fault
    proof = parse(text)
    if not any(fits(proof, shape) for shape in (INCLUSION, {**INCLUSION, "payload": TEXT}, CONSISTENCY)): return "MALFORMED"
    old, new = [proof["checkpoint"]] * 2 if "leaf" in proof else [proof["from"], proof["to"]]
    if any(old[k] != new[k] for k in ("tenant_id", "project_id")): return "MALFORMED"
    if any(old[k] > new[k] for k in ("position", "incarnation")): return "MALFORMED"
    for anchor in (old, new):
        public, signed = raw(anchor["public_key"]), "\n".join(str(anchor[k]) for k in SIGNED).encode()
        if sha(public).hex()[:16] != anchor["key_id"]: return "KEY_ID_MISMATCH"
        if key not in (None, anchor["key_id"], anchor["public_key"]): return "UNTRUSTED_KEY"
        if not verify(public, signed, raw(anchor["signature"])): return "BAD_SIGNATURE"
    at, last, path = old["position"] - 1, new["position"] - 1, [raw(h) for h in proof["path"]]
    roots = raw(old["root"]), raw(new["root"])
    if "leaf" in proof:
        event, index, leaf = parse(proof["leaf"]), proof["index"], proof["leaf"].encode()
        names = {"tenant_id": old["tenant_id"], "project_id": old["project_id"], "position": index + 1}
        if not isinstance(event, dict) or any(repr(event.get(k)) != repr(names[k]) for k in names): return "LEAF_MISMATCH"
        if "payload" in proof and b64(sha(proof["payload"].encode())) != event.get("payload_sha256"): return "PAYLOAD_MISMATCH"
        return "ok" if index <= last and climb(index, last, b"", sha(b"\0" + leaf), path)[1] == roots[1] else "BAD_PATH"
    if at == last: return "ok" if not path and roots[0] == roots[1] else "BAD_PATH"
    while at % 2: at, last = at // 2, last // 2
    path = path if at else [roots[0], *path]  # the root of a complete tree is not in the path
    return "ok" if path and climb(at, last, path[0], path[0], path[1:]) == roots else "BAD_PATH"
if __name__ == "__main__":
    if len(sys.argv) not in (2, 4) or sys.argv[2:3] not in ([], ["--key"]): sys.exit(__doc__)
    print(verdict := check(open(sys.argv[1], encoding="utf-8", errors="surrogateescape").read(), *sys.argv[3:4]))
    sys.exit(verdict != "ok")
