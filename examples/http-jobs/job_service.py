#!/usr/bin/env python3
"""A small job service that speaks docs/http-jobs.md, for learning and for tests.

Jobs are processes of this machine, and all that is known of a job is files below --root: a
service that is killed and started again finds its jobs where they are. SIGTERM ends it and the
jobs. The store's key is AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY of the environment.
"""

import argparse
import ctypes
import datetime
import fcntl
import hashlib
import hmac
import http.client
import http.server
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import threading
import time
import urllib.parse
import xml.etree.ElementTree

FINAL = ("succeeded", "failed", "stopped", "lost")
LONGEST_BODY = 1 << 20
LONGEST_PIECE = 8 << 20
LONGEST_RUN_S = 24 * 3600


class Store:
    """An S3 store, path style, with AWS Signature V4."""

    def __init__(self, url, region):
        parts = urllib.parse.urlsplit(url)
        self.secure, self.host, self.region = parts.scheme == "https", parts.netloc, region
        self.key = os.environ["AWS_ACCESS_KEY_ID"]
        self.secret = os.environ["AWS_SECRET_ACCESS_KEY"]

    def _send(self, method, bucket, key, query, body=b""):
        now = datetime.datetime.now(datetime.timezone.utc)
        stamp, day = now.strftime("%Y%m%dT%H%M%SZ"), now.strftime("%Y%m%d")
        path = urllib.parse.quote(f"/{bucket}/{key}", safe="/-._~")
        encoded = "&".join(
            f"{urllib.parse.quote(name, safe='-._~')}={urllib.parse.quote(value, safe='-._~')}"
            for name, value in sorted(query.items()))
        digest = hashlib.sha256(body).hexdigest()
        headers = {"host": self.host, "x-amz-content-sha256": digest, "x-amz-date": stamp}
        names = ";".join(sorted(headers))
        lines = "".join(f"{name}:{headers[name]}\n" for name in sorted(headers))
        request = "\n".join([method, path, encoded, lines, names, digest])
        scope = f"{day}/{self.region}/s3/aws4_request"
        to_sign = "\n".join(["AWS4-HMAC-SHA256", stamp, scope,
                             hashlib.sha256(request.encode()).hexdigest()])
        secret = ("AWS4" + self.secret).encode()
        for word in (day, self.region, "s3", "aws4_request"):
            secret = hmac.digest(secret, word.encode(), "sha256")
        signature = hmac.new(secret, to_sign.encode(), "sha256").hexdigest()
        headers["Authorization"] = (f"AWS4-HMAC-SHA256 Credential={self.key}/{scope}, "
                                    f"SignedHeaders={names}, Signature={signature}")
        kind = http.client.HTTPSConnection if self.secure else http.client.HTTPConnection
        connection = kind(self.host, timeout=60)
        try:
            connection.request(method, path + ("?" + encoded if encoded else ""), body, headers)
            response = connection.getresponse()
            content = response.read()
            if response.status // 100 != 2:
                raise OSError(f"the store refused {method} {path}: {response.status}")
            return content
        finally:
            connection.close()

    def _keys(self, bucket, prefix):
        marker = ""
        while True:
            query = {"prefix": prefix, "max-keys": "1000"}
            if marker:
                query["marker"] = marker
            page = xml.etree.ElementTree.fromstring(self._send("GET", bucket, "", query))
            keys = [node.text for node in page.findall("{*}Contents/{*}Key")]
            yield from keys
            if page.findtext("{*}IsTruncated") != "true" or not keys:
                return
            marker = keys[-1]

    def download(self, url, folder):
        bucket, prefix = split_url(url)
        for key in self._keys(bucket, prefix):
            path = (folder / key[len(prefix):]).resolve()
            if folder.resolve() not in path.parents:
                raise OSError(f"a key leads out of the folder: {key}")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(self._send("GET", bucket, key, {}))

    def upload(self, folder, url):
        bucket, prefix = split_url(url)
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                self._send("PUT", bucket, prefix + path.relative_to(folder).as_posix(), {},
                           path.read_bytes())


def split_url(url):
    parts = urllib.parse.urlsplit(url)
    return parts.netloc, parts.path.lstrip("/")


def write_json(path, value):
    scratch = path.with_suffix(f".{os.getpid()}.{threading.get_ident()}")
    scratch.write_text(json.dumps(value))
    scratch.replace(path)


def read_json(path):
    try:
        return json.loads(path.read_text())
    except (OSError, ValueError):
        return {}


# ---- one job: a process of its own, which outlives the service ----


class Runner:
    def __init__(self, folder, store, clock_offset):
        self.folder, self.store, self.clock_offset = folder, store, clock_offset
        self.job = read_json(folder / "job.json")
        self.processes = []

    def now_ms(self):
        return int((time.time() + self.clock_offset) * 1000)

    def say(self, **fields):
        write_json(self.folder / "state.json", {**read_json(self.folder / "state.json"), **fields})

    def run(self):
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # the service ignores it
        lock = open(self.folder / "lock", "w")  # held until this process ends
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            state, message = self.work()
        except Exception as error:  # whatever it is, the job's user has to hear of it
            state, message = "failed", f"the service could not run it: {error}"
        self.say(state=state, message=message, ended_ms=self.now_ms())

    def work(self):
        request = self.job["request"]
        for number in range(request["instances"]):
            (self.folder / f"instance{number}/output").mkdir(parents=True)
            self.store.download(request["code"], self.folder / f"instance{number}/code")
        if self.stopped():
            return "stopped", "before it started"
        self.say(state="running", started_ms=self.now_ms())
        for number in range(request["instances"]):
            self.processes.append(self.start(request, number))
        state, message = self.watch(min(request.get("time_limit_s", LONGEST_RUN_S), LONGEST_RUN_S))
        for process in self.processes:
            kill_group(process)
        codes = [process.wait() for process in self.processes]
        self.say(exit_codes=[128 - code if code < 0 else code for code in codes])
        for number in range(request["instances"]):
            self.store.upload(self.folder / f"instance{number}/output", request["output"])
        return state, message

    def start(self, request, number):
        place = self.folder / f"instance{number}"
        environment = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
        environment.update(request["environment"])
        environment.update(JOB_INSTANCE=str(number), JOB_INSTANCES=str(request["instances"]),
                           JOB_PROCESSES=str(request["processes"]), JOB_OUTPUT=str(place / "output"),
                           JOB_ADDRESSES=",".join(["127.0.0.1"] * request["instances"]))
        with open(place / "log", "wb") as log:
            return subprocess.Popen(request["command"], cwd=place / "code", env=environment,
                                    stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                    start_new_session=True, preexec_fn=die_with_parent)

    def watch(self, time_limit_s):
        end = time.monotonic() + time_limit_s
        while True:
            codes = [process.poll() for process in self.processes]
            for number, code in enumerate(codes):
                if code not in (None, 0):
                    return "failed", f"instance {number} ended with exit code {code}"
            if None not in codes:
                return "succeeded", ""
            if self.stopped():
                return "stopped", "it was asked to"
            if time.monotonic() > end:
                return "failed", "it ran longer than time_limit_s"
            time.sleep(0.02)

    def stopped(self):
        return (self.folder / "stop").exists()


def die_with_parent():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def kill_group(process):
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


# ---- the service ----


class Refusal(Exception):
    def __init__(self, status, code, message):
        super().__init__(message)
        self.status, self.code = status, code


class Service:
    def __init__(self, options):
        self.options = options
        self.jobs = pathlib.Path(options.root).resolve() / "jobs"
        self.jobs.mkdir(parents=True, exist_ok=True)
        self.token = pathlib.Path(options.token_file).read_text().strip()
        self.mutex = threading.Lock()

    def describe(self):
        return {"interface": "assay-jobs/1", "service": "job_service.py",
                "max_instances": self.options.max_instances}

    def create(self, request):
        self.check(request)
        job_id = hashlib.sha256(request["key"].encode()).hexdigest()[:24]
        folder = self.jobs / job_id
        with self.mutex:
            known = read_json(folder / "job.json")
            if known:
                if known["request"] != request:
                    raise Refusal(409, "key_used", "this key was used for another request")
                return 200, self.job(job_id)
            folder.mkdir(exist_ok=True)
            write_json(folder / "state.json", {"state": "queued"})
            write_json(folder / "job.json", {
                "id": job_id, "request": request,
                "created_ms": int((time.time() + self.options.clock_offset) * 1000)})
            subprocess.Popen(
                [sys.executable, __file__, "--run", str(folder), "--store", self.options.store,
                 "--region", self.options.region, "--clock-offset",
                 str(self.options.clock_offset)],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, start_new_session=True)
            wait_for_lock(folder)
        return 201, self.job(job_id)

    def check(self, request):
        wanted = {"key": str, "instances": int, "processes": int, "command": list,
                  "environment": dict, "code": str, "output": str}
        for name, kind in wanted.items():
            if not isinstance(request.get(name), kind) or request[name] in ("", [], 0):
                raise Refusal(400, "invalid", f"'{name}' is missing, or not {kind.__name__}")
        if request["instances"] > self.options.max_instances:
            raise Refusal(400, "too_many_instances",
                          f"there are {self.options.max_instances} at most")

    def folder(self, job_id):
        folder = self.jobs / job_id
        if not job_id.isalnum() or not (folder / "job.json").exists():
            raise Refusal(404, "no_such_job", f"there is no job {job_id}")
        return folder

    def job(self, job_id):
        folder = self.folder(job_id)
        job, state = read_json(folder / "job.json"), read_json(folder / "state.json")
        if not job or not state:  # it is being removed
            raise Refusal(404, "no_such_job", f"there is no job {job_id}")
        if state.get("state") not in FINAL and not is_locked(folder):
            state = read_json(folder / "state.json")  # it may just have ended
            if state.get("state") not in FINAL:
                state["state"] = "lost"
        if state.get("state") not in FINAL and (folder / "stop").exists():
            state["state"] = "stopping"
        instances = []
        for number in range(job["request"]["instances"]):
            log = folder / f"instance{number}/log"
            one = {"log_bytes": log.stat().st_size if log.exists() else 0}
            if "exit_codes" in state:
                one["exit_code"] = state["exit_codes"][number]
            instances.append(one)
        out = {"id": job["id"], "key": job["request"]["key"], "state": state["state"],
               "message": state.get("message", ""), "created_ms": job["created_ms"],
               "instances": instances}
        for name in ("started_ms", "ended_ms"):
            if name in state:
                out[name] = state[name]
        return out

    def find(self, key):
        found = []
        for folder in sorted(self.jobs.glob("[!.]*")):
            job = read_json(folder / "job.json")
            if not job or key not in (None, job["request"]["key"]):
                continue
            try:
                found.append(self.job(job["id"]))
            except Refusal:  # it was removed meanwhile
                pass
        return {"jobs": found}

    def stop(self, job_id):
        (self.folder(job_id) / "stop").touch()
        return self.job(job_id)

    def remove(self, job_id):
        folder = self.folder(job_id)
        (folder / "stop").touch()
        with self.mutex:
            wait_until(lambda: not is_locked(folder), 30)
            gone = folder.rename(folder.with_name("." + job_id))  # at once: who looks sees all or nothing
        shutil.rmtree(gone, ignore_errors=True)

    def log(self, job_id, instance, offset, limit):
        folder = self.folder(job_id)
        count = read_json(folder / "job.json")["request"]["instances"]
        if not 0 <= instance < count:
            raise Refusal(404, "no_such_instance", f"the job has {count} instances")
        log = folder / f"instance{instance}/log"
        if not log.exists():
            return b""
        with open(log, "rb") as file:
            file.seek(offset)
            return file.read(min(limit, LONGEST_PIECE))

    def stop_all(self):
        for folder in self.jobs.glob("[!.]*"):
            (folder / "stop").touch()
        for folder in self.jobs.glob("[!.]*"):
            wait_until(lambda: not is_locked(folder), 10)


def is_locked(folder):
    try:
        with open(folder / "lock") as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
            return False
    except BlockingIOError:
        return True
    except OSError:
        return False


def wait_until(condition, seconds):
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.02)


def wait_for_lock(folder):
    state = folder / "state.json"
    wait_until(lambda: is_locked(folder) or read_json(state).get("state") in FINAL, 60)


def handler_of(service):
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout = 60

        def date_time_string(self, timestamp=None):
            return super().date_time_string((timestamp or time.time()) +
                                            service.options.clock_offset)

        def log_message(self, format, *args):
            pass

        def answer(self, status, content, kind="application/json"):
            body = content if isinstance(content, bytes) else json.dumps(content).encode()
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            if status == 401:
                self.send_header("WWW-Authenticate", "Bearer")
            self.end_headers()
            self.wfile.write(body)

        def body(self):
            length = int(self.headers.get("Content-Length") or 0)
            if length > LONGEST_BODY:
                raise Refusal(413, "too_large", "a request has 1 MiB at most")
            try:
                value = json.loads(self.rfile.read(length) or b"{}")
            except ValueError:
                raise Refusal(400, "invalid", "the body is not JSON") from None
            if not isinstance(value, dict):
                raise Refusal(400, "invalid", "the body is not an object")
            return value

        def do(self):
            try:
                body = self.body()
                given = self.headers.get("Authorization", "")
                if not hmac.compare_digest(given.encode(), f"Bearer {service.token}".encode()):
                    raise Refusal(401, "unauthorized", "the token is missing or wrong")
                self.route(body)
            except Refusal as refusal:
                self.answer(refusal.status,
                            {"error": {"code": refusal.code, "message": str(refusal)}})

        do_GET = do_POST = do_DELETE = do

        def route(self, body):
            url = urllib.parse.urlsplit(self.path)
            query = dict(urllib.parse.parse_qsl(url.query))
            match [self.command, *url.path.strip("/").split("/")]:
                case ["GET", "v1"]:
                    self.answer(200, service.describe())
                case ["POST", "v1", "jobs"]:
                    self.answer(*service.create(body))
                case ["GET", "v1", "jobs"]:
                    self.answer(200, service.find(query.get("key")))
                case ["GET", "v1", "jobs", job]:
                    self.answer(200, service.job(job))
                case ["DELETE", "v1", "jobs", job]:
                    service.remove(job)
                    self.answer(200, {})
                case ["POST", "v1", "jobs", job, "stop"]:
                    self.answer(200, service.stop(job))
                case ["GET", "v1", "jobs", job, "logs", instance] if instance.isdigit():
                    offset, limit = query.get("offset", "0"), query.get("limit", "65536")
                    if not (offset.isdigit() and limit.isdigit()):
                        raise Refusal(400, "invalid", "offset and limit are whole numbers")
                    self.answer(200, service.log(job, int(instance), int(offset), int(limit)),
                                "application/octet-stream")
                case _:
                    raise Refusal(404, "no_such_path", "the service has no such path")

    return Handler


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--listen", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0, help="0: any that is free")
    parser.add_argument("--root", help="the folder for jobs")
    parser.add_argument("--token-file", help="what requests must carry")
    parser.add_argument("--store", required=True, help="the S3 store, http://host:port")
    parser.add_argument("--region", default="us-east-1")
    parser.add_argument("--max-instances", type=int, default=8)
    parser.add_argument("--clock-offset", type=float, default=0, help="seconds, for tests")
    parser.add_argument("--run", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.run:
        Runner(pathlib.Path(options.run), Store(options.store, options.region),
               options.clock_offset).run()
        return
    if not (options.root and options.token_file):
        parser.error("--root and --token-file are needed")
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # no zombies: nobody waits for runners
    service = Service(options)
    server = http.server.ThreadingHTTPServer((options.listen, options.port), handler_of(service))
    signal.signal(signal.SIGTERM,
                  lambda *_: threading.Thread(target=server.shutdown, daemon=True).start())
    print(f"listening on http://{options.listen}:{server.server_address[1]}", flush=True)
    server.serve_forever(poll_interval=0.05)
    service.stop_all()


if __name__ == "__main__":
    main()
