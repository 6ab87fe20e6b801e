#!/usr/bin/env python3
"""Stands before an HTTP service and does to its answers what networks and proxies do.

Faults are a JSON list in --faults, read again when it changes. A request whose "METHOD path"
begins with `match`, and has `has` in it, meets one, `count` times (-1: always):

  status   answered with `status`; the service does not hear of it
  garbage  200 with bytes that are no JSON; the service does not hear of it
  empty    200 with no bytes; the service does not hear of it
  replace  the service does it, and `from` in its answer is `to`
  huge     200 with a body without end; the service does not hear of it
  swallow  the service does it, and the connection is closed without an answer
  cut      the service does it, and half of its answer arrives
  drip     the service does it, and its answer comes byte by byte, `delay_ms` apart

Every request is a line in --record.
"""

import argparse
import http.client
import http.server
import json
import pathlib
import threading
import time


class Faults:
    def __init__(self, path):
        self.path, self.text, self.active = pathlib.Path(path), "", []
        self.mutex = threading.Lock()

    def meet(self, request):
        with self.mutex:
            text = self.path.read_text() if self.path.exists() else "[]"
            if text != self.text:
                self.text, self.active = text, json.loads(text)
            for fault in self.active:
                meant = request.startswith(fault["match"]) and fault.get("has", "") in request
                if meant and fault.get("count", 1) != 0:
                    fault["count"] = fault.get("count", 1) - 1
                    return fault
        return {"kind": "none"}


def handler_of(options, faults):
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout = 60

        def log_message(self, format, *args):
            pass

        def do(self):
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            with open(options.record, "a") as record:
                record.write(f"{self.command} {self.path}\n")
            fault = faults.meet(f"{self.command} {self.path}")
            kind = fault["kind"]
            if kind == "status":
                return self.answer(fault["status"], b'{"error": {"code": "busy"}}', fault)
            if kind == "garbage":
                return self.answer(200, b"\x00\xff<<not json" * 20, fault)
            if kind == "empty":
                return self.answer(200, b"", fault)
            if kind == "huge":
                return self.flood()
            try:
                status, headers, content = self.ask(body)
            except OSError:  # nobody is there: as a connection that breaks
                self.close_connection = True
                return None
            if kind == "replace":
                content = content.replace(fault["from"].encode(), fault["to"].encode())
            if kind == "swallow":
                self.close_connection = True
                return None
            return self.answer(status, content, fault, headers)

        do_GET = do_POST = do_DELETE = do

        def ask(self, body):
            connection = http.client.HTTPConnection("127.0.0.1", options.to, timeout=60)
            try:
                headers = {name: value for name, value in self.headers.items()
                           if name.lower() in ("authorization", "content-type")}
                connection.request(self.command, self.path, body, headers)
                response = connection.getresponse()
                return response.status, {"Date": response.getheader("Date", "")}, response.read()
            finally:
                connection.close()

        def answer(self, status, content, fault, headers=None):
            self.send_response_only(status)
            for name, value in (headers or {}).items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            if fault["kind"] == "cut":
                content = content[:len(content) // 2]
                self.close_connection = True
            if fault["kind"] != "drip":
                self.wfile.write(content)
                return
            for byte in content:
                self.wfile.write(bytes([byte]))
                self.wfile.flush()
                time.sleep(fault["delay_ms"] / 1000)

        def flood(self):
            self.send_response_only(200)
            self.send_header("Content-Length", str(1 << 40))
            self.end_headers()
            self.close_connection = True
            try:
                while True:
                    self.wfile.write(b"[" * (1 << 20))
            except OSError:
                pass

    return Handler


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--to", type=int, required=True, help="the service's port")
    parser.add_argument("--faults", required=True)
    parser.add_argument("--record", required=True)
    options = parser.parse_args()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0),
                                             handler_of(options, Faults(options.faults)))
    print(f"listening on http://127.0.0.1:{server.server_address[1]}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
