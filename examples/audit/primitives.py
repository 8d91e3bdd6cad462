"""SHA-256, base64url, and the verification of Ed25519 signatures (RFC 8032) without a library outside Python's own."""
import base64, hashlib

def sha(data): return hashlib.sha256(data).digest()
def raw(text): return base64.urlsafe_b64decode(text + "==")
def b64(data): return base64.urlsafe_b64encode(data).decode().rstrip("=")

P, L = 2**255 - 19, 2**252 + 27742317777372353535851937790883648493
D, ROOT = -121665 * pow(121666, -1, P) % P, pow(2, (P - 1) // 4, P)

def add(p, q):  # points are (x, y, z, t) with x/z, y/z and t = xy/z
    a, b = (p[1] - p[0]) * (q[1] - q[0]), (p[1] + p[0]) * (q[1] + q[0])
    c, d = 2 * p[3] * q[3] * D, 2 * p[2] * q[2]
    return (b - a) * (d - c) % P, (d + c) * (b + a) % P, (d - c) * (d + c) % P, (b - a) * (b + a) % P

def times(n, p):
    total = (0, 1, 1, 0)
    while n:
        total, p, n = add(total, p) if n % 2 else total, add(p, p), n // 2
    return total

def point(data):  # decodes a point of the curve; None: there is no such point
    y, sign = int.from_bytes(data, "little") % 2**255, data[31] >> 7
    square = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    for x in (pow(square, (P + 3) // 8, P), pow(square, (P + 3) // 8, P) * ROOT % P):
        if x * x % P == square:
            x = x if x % 2 == sign else -x % P
            return x, y, 1, x * y % P

BASE = point((4 * pow(5, -1, P) % P).to_bytes(32, "little"))

def verify(key, text, signature):
    public, s = point(key), int.from_bytes(signature[32:], "little")
    if public is None or s >= L:
        return False
    h = int.from_bytes(hashlib.sha512(signature[:32] + key + text).digest(), "little") % L
    x, y, z, _ = add(times(s, BASE), times(h, (-public[0], public[1], 1, -public[3])))
    x, y = x * pow(z, -1, P) % P, y * pow(z, -1, P) % P
    return (y | x % 2 << 255).to_bytes(32, "little") == signature[:32]
