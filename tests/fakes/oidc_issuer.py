"""An OpenID provider for tests, on a free port of this machine, which it prints. PyJWT signs the
tokens. It signs everybody in as the 'who' of its authorization address, and does wrong what the
'wrong' there says."""
import base64
import hashlib
import json
import secrets
import sys
import threading
import time
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa

CLIENT, SECRET = "assay", "s3cret/with+signs"
rsa_key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
ec_key = ec.generate_private_key(ec.SECP256R1())
stranger = rsa.generate_private_key(public_exponent=65537, key_size=2048)
weak = rsa.generate_private_key(public_exponent=65537, key_size=1024)
late = rsa.generate_private_key(public_exponent=65537, key_size=2048)
codes = {}
published = [("r1", rsa_key, "RSA"), ("e1", ec_key, "EC"), ("w1", weak, "RSA")]


def public(kid, key, kind):
    make = jwt.algorithms.RSAAlgorithm if kind == "RSA" else jwt.algorithms.ECAlgorithm
    if kind == "EC":  # PyJWT 2.6 writes no keys of this kind
        numbers = key.public_key().public_numbers()
        encode = lambda n: base64.urlsafe_b64encode(n.to_bytes(32, "big")).rstrip(b"=").decode()
        out = {"kty": "EC", "crv": "P-256", "x": encode(numbers.x), "y": encode(numbers.y)}
    else:
        out = json.loads(make.to_jwk(key.public_key()))
        out.pop("key_ops", None)
    return {**out, "kid": kid, "use": "sig"}


def token_for(asked):
    wrong = asked.get("wrong", "")
    now = int(time.time())
    claims = {"iss": Handler.issuer, "aud": CLIENT, "sub": "id-of-" + asked["who"], "iat": now, "exp": now + 300,
              "nonce": asked["nonce"], "preferred_username": asked["who"], "name": asked["who"].title() + " Example",
              "groups": asked.get("groups", "").split()}
    claims.update({"issuer": {"iss": "http://127.0.0.1:1"}, "audience": {"aud": "another"},
                   "party": {"aud": [CLIENT, "another"], "azp": "another"}, "expired": {"exp": now - 3600},
                   "future": {"iat": now + 3600}, "nonce": {"nonce": "of another request"}, "subject": {"sub": ""},
                   }.get(wrong, {}))
    if wrong == "nogroups":
        del claims["groups"]
    if wrong == "none":
        return jwt.encode(claims, None, algorithm="none", headers={"kid": "r1"})
    if wrong == "hmac":  # the public key as a shared secret
        text = rsa_key.public_key().public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
        return jwt.encode(claims, text, algorithm="HS256", headers={"kid": "r1"})
    if wrong == "stranger":
        return jwt.encode(claims, stranger, algorithm="RS256", headers={"kid": "r1"})
    if wrong == "weak":
        return jwt.encode(claims, weak, algorithm="RS256", headers={"kid": "w1"})
    if wrong == "changed":
        head, body, signature = jwt.encode(claims, rsa_key, algorithm="RS256", headers={"kid": "r1"}).split(".")
        claims["sub"] = "id-of-root"
        body = base64.urlsafe_b64encode(json.dumps(claims).encode()).rstrip(b"=").decode()
        return ".".join([head, body, signature])
    if asked.get("sign") == "EC":
        return jwt.encode(claims, ec_key, algorithm="ES256", headers={"kid": "e1"})
    if asked.get("sign") == "never":  # a key that is not published
        return jwt.encode(claims, stranger, algorithm="RS256", headers={"kid": "never"})
    if asked.get("sign") == "late":
        if len(published) == 3:
            published.append(("late", late, "RSA"))
        return jwt.encode(claims, late, algorithm="RS256", headers={"kid": "late"})
    return jwt.encode(claims, rsa_key, algorithm="RS256", headers={"kid": "r1"})


class Handler(BaseHTTPRequestHandler):
    issuer = ""

    def answer(self, status, body=b"", kind="application/json", location=None):
        body = json.dumps(body).encode() if isinstance(body, (dict, list)) else body
        self.send_response(status)
        if location:
            self.send_header("Location", location)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def drip(self):
        """An answer that never ends, and is never silent or slower than a slow network."""
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", "200000")
        self.end_headers()
        try:
            while True:
                self.wfile.write(b" " * 400)
                self.wfile.flush()
                time.sleep(0.2)
        except OSError:
            self.close_connection = True

    def do_GET(self):
        url = urllib.parse.urlsplit(self.path)
        if url.path.startswith("/drip/"):
            return self.drip()
        asked = dict(urllib.parse.parse_qsl(url.query))
        if url.path == "/.well-known/openid-configuration":
            self.answer(200, {"issuer": self.issuer, "authorization_endpoint": self.issuer + "/authorize?kept=1",
                              "token_endpoint": self.issuer + "/token", "jwks_uri": self.issuer + "/keys"})
        elif url.path == "/keys":
            self.answer(200, {"keys": [public(*one) for one in published] + [{"kty": "oct", "kid": "o1", "k": "AAAA"}]})
        elif url.path == "/authorize":
            missing = [n for n in ("client_id", "redirect_uri", "state", "nonce", "code_challenge", "kept") if n not in asked]
            if missing or "openid" not in asked.get("scope", "").split() or asked["code_challenge_method"] != "S256":
                return self.answer(400, {"missing": missing})
            code = secrets.token_urlsafe(16)
            codes[code] = asked
            back = {"state": asked["state"], "code": code}
            if asked.get("wrong") == "denied":
                back = {"state": asked["state"], "error": "access_denied"}
            self.answer(303, location=asked["redirect_uri"] + "?" + urllib.parse.urlencode(back))
        else:
            self.answer(404)

    def do_POST(self):
        form = dict(urllib.parse.parse_qsl(self.rfile.read(int(self.headers["Content-Length"])).decode()))
        asked = codes.pop(form.get("code"), None)  # a code works once
        right = "Basic " + base64.b64encode(f"{CLIENT}:{urllib.parse.quote(SECRET, safe='')}".encode()).decode()
        if self.headers["Authorization"] != right:
            return self.answer(401, {"error": "invalid_client"})
        challenge = base64.urlsafe_b64encode(hashlib.sha256(form.get("code_verifier", "").encode()).digest()).rstrip(b"=").decode()
        if asked is None or challenge != asked["code_challenge"] or form.get("redirect_uri") != asked["redirect_uri"]:
            return self.answer(400, {"error": "invalid_grant"})
        if asked.get("wrong") == "garbage":
            return self.answer(200, b"\x00\xff" * 1000)
        if asked.get("wrong") == "silent":
            threading.Event().wait(600)
        if asked.get("wrong") == "drip":
            return self.drip()
        self.answer(200, {"access_token": "x", "token_type": "Bearer", "id_token": token_for(asked)})

    def log_message(self, *args):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
server.daemon_threads = True
Handler.issuer = f"http://127.0.0.1:{server.server_port}"
print(server.server_port, flush=True)
threading.Thread(target=lambda: (sys.stdin.read(), server.shutdown()), daemon=True).start()
server.serve_forever()
