#!/usr/bin/env python3
"""An S3 store in memory that answers as stores may, and Assay's emulator does not.

It checks no signatures. The words of --odd, and of a later `PUT /_odd` with a body, say how:

  true       IsTruncated is "True"            page2     lists have two entries a page
  unsaid     IsTruncated is "perhaps"         prefixed  elements are <s3:Name>
  upper      ETags are in upper case          weak      ETags are weak
  bare       ETags without quotes             notag     no ETags
  strict     If-Match is compared as it is    nolength  HEAD has no Content-Length
  shifted    ranges begin a byte too early    moved     301 with another endpoint
  nomarker   lists have no NextMarker
"""

import argparse
import hashlib
import http.server
import urllib.parse
from xml.sax.saxutils import escape

ODD, OBJECTS, UPLOADS, META = set(), {}, {}, {}


def xml(name, *content):
    if "prefixed" in ODD:
        name = "s3:" + name
    return f"<{name}>" + "".join(content) + f"</{name}>"


def document(name, *content):
    text = xml(name, *content)
    space = "xmlns:s3" if "prefixed" in ODD else "xmlns"
    end = text.index(">")
    return ('<?xml version="1.0" encoding="UTF-8"?>' + text[:end]
            + f' {space}="http://s3.amazonaws.com/doc/2006-03-01/"' + text[end:]).encode()


def etag(value):
    if "notag" in ODD:
        return ""
    value = value.upper() if "upper" in ODD else value
    if "bare" in ODD:
        return value
    return ("W/" if "weak" in ODD else "") + f'"{value}"'


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, format, *args):
        pass

    def answer(self, status, body=b"", headers=None, length=None):
        self.send_response(status)
        for name, value in (headers or {}).items():
            if value:
                self.send_header(name, value)
        if not (self.command == "HEAD" and "nolength" in ODD):
            self.send_header("Content-Length", str(len(body) if length is None else length))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def refuse(self, status, code, *more, headers=None):
        self.answer(status, document("Error", xml("Code", code), xml("Message", "no"), *more),
                    headers)

    def do(self):
        url = urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(url.query, keep_blank_values=True))
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if url.path == "/_odd":
            ODD.clear()
            ODD.update(body.decode().split())
            return self.answer(200)
        if "moved" in ODD:
            return self.refuse(301, "PermanentRedirect", xml("Endpoint", "s3-eu.example"),
                               headers={"x-amz-bucket-region": "eu-west-3"})
        key = urllib.parse.unquote(url.path).split("/", 2)[2]
        if self.command == "PUT":
            return self.put(key, query, body)
        if self.command == "POST":
            return self.post(key, query)
        if self.command == "DELETE":
            OBJECTS.pop(key, None)
            return self.answer(204)
        return self.get(key) if key else self.list(query)

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = do

    def meta(self):
        return {name: value for name, value in self.headers.items()
                if name.lower().startswith("x-amz-meta")}

    def put(self, key, query, body):
        md5 = hashlib.md5(body).hexdigest()
        if "uploadId" in query:
            UPLOADS[key][int(query["partNumber"])] = body
        else:
            OBJECTS[key], META[key] = (body, md5), self.meta()
        self.answer(200, headers={"ETag": etag(md5)})

    def post(self, key, query):
        if "uploads" in query:
            UPLOADS[key], META[key] = {}, self.meta()
            return self.answer(200, document("InitiateMultipartUploadResult",
                                             xml("UploadId", escape("<1>&+%2B"))))
        parts = [UPLOADS[key][number] for number in sorted(UPLOADS[key])]
        all_md5 = hashlib.md5(b"".join(hashlib.md5(part).digest() for part in parts))
        OBJECTS[key] = (b"".join(parts), f"{all_md5.hexdigest()}-{len(parts)}")
        return self.answer(200, document("CompleteMultipartUploadResult",
                                         xml("ETag", escape(etag(OBJECTS[key][1])))))

    def get(self, key):
        if key not in OBJECTS:
            return self.refuse(404, "NoSuchKey")
        content, md5 = OBJECTS[key]
        headers = {"ETag": etag(md5), **META[key]}
        wanted = self.headers.get("If-Match")
        if wanted and "strict" in ODD and wanted != headers["ETag"]:
            return self.refuse(412, "PreconditionFailed")
        if self.command == "HEAD" or "Range" not in self.headers:
            return self.answer(200, content, headers)
        first, last = (int(word or len(content) - 1)
                       for word in self.headers["Range"].split("=")[1].split("-"))
        last = min(last, len(content) - 1)
        if "shifted" in ODD and first > 0:
            first, last = first - 1, last - 1
        headers["Content-Range"] = f"bytes {first}-{last}/{len(content)}"
        return self.answer(206, content[first:last + 1], headers)

    def list(self, query):
        prefix, marker = query.get("prefix", ""), query.get("marker", "")
        delimiter, most = query.get("delimiter"), 2 if "page2" in ODD else 1000
        entries, truncated = {}, False
        for key in sorted(OBJECTS):
            if not key.startswith(prefix) or key <= marker:
                continue
            at = key.find(delimiter, len(prefix)) if delimiter else -1
            name = key if at < 0 else key[:at + 1]
            if name in entries or (at >= 0 and "nomarker" not in ODD and name <= marker):
                continue
            if len(entries) == most:
                truncated = True
                break
            entries[name] = key if at < 0 else None
        said = "perhaps" if "unsaid" in ODD else "true" if truncated else "false"
        out = [xml("IsTruncated", said.capitalize() if "true" in ODD else said)]
        if truncated and "nomarker" not in ODD:
            out.append(xml("NextMarker", escape(list(entries)[-1])))
        for name, key in entries.items():
            if key is None:
                out.append(xml("CommonPrefixes", xml("Prefix", escape(name))))
            else:
                content, md5 = OBJECTS[key]
                out.append(xml("Contents", xml("Key", escape(key)), xml("ETag", escape(etag(md5))),
                               xml("Size", str(len(content)))))
        self.answer(200, document("ListBucketResult", *out))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--odd", default="")
    ODD.update(parser.parse_args().odd.split())
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    print(f"listening on http://127.0.0.1:{server.server_address[1]}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
