// A job's own web server, seen through the door: what arrives, and what never does.

#include <csignal>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include "core/json_access.h"
#include "core/text.h"
#include "e2e/door/door_test.h"
#include "needs.h"
#include "ports.h"
#include "send_signal.h"

namespace assay::e2e {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// Says what it was asked, and does what a page should not.
constexpr const char* kApplication = R"PY(
import base64, hashlib, json, os, socket, sys, threading, time
folder = sys.argv[1]
def serve(c):
    data = b''
    while b'\r\n\r\n' not in data:
        piece = c.recv(65536)
        if not piece: return
        data += piece
    head, body = data.split(b'\r\n\r\n', 1)
    lines = head.decode('latin1').split('\r\n')
    path = lines[0].split(' ')[1]
    headers = dict((l.split(': ', 1)[0].lower(), l.split(': ', 1)[1]) for l in lines[1:])
    while len(body) < int(headers.get('content-length', 0)): body += c.recv(65536)
    if path == '/garbage': c.sendall(b'SSH-2.0-OpenSSH_9.2\r\n' * 100)
    elif path == '/endless-head':
        try:
            c.sendall(b'HTTP/1.1 200 OK\r\n')
            while True: c.sendall(b'X-More: ' + b'x' * 1000 + b'\r\n')
        except OSError: pass
    elif path == '/smuggle': c.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\nhi')
    elif path == '/more-than-it-says': c.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhiHTTP/1.1 200 OK\r\nSet-Cookie: assay_session=evil\r\n\r\n')
    elif path == '/nothing': pass
    elif path == '/stream':
        c.sendall(b'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: one\n\n')
        while not os.path.exists(folder + '/second'): time.sleep(0.02)
        c.sendall(b'data: two\n\n')
    elif path == '/ws':
        accept = base64.b64encode(hashlib.sha1((headers['sec-websocket-key'] + '258EAFA5-E914-47DA-95CA-C5AB0DC85B11').encode()).digest())
        c.sendall(b'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ' + accept + b'\r\n\r\n')
        while True:
            piece = c.recv(65536)
            if not piece: break
            c.sendall(b'echo:' + piece)
    else:
        said = json.dumps({'line': lines[0], 'headers': headers, 'body': body.decode('latin1')}).encode()
        c.sendall(b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n'
                  b'Set-Cookie: mine=1; Domain=localhost; Path=/\r\nSet-Cookie: assay_session=evil; Path=/\r\n'
                  b'Clear-Site-Data: "cookies"\r\nContent-Length: %d\r\n\r\n' % len(said) + said)
    try: c.shutdown(socket.SHUT_WR)
    except OSError: pass
    c.close()
s = socket.socket()
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind(('127.0.0.1', int(sys.argv[2])))
s.listen(50)
with open(folder + '/listens.tmp', 'w') as f: f.write(str(os.getpid()))
os.rename(folder + '/listens.tmp', folder + '/listens')
while True:
    c, _ = s.accept()
    threading.Thread(target=serve, args=(c,), daemon=True).start()
)PY";

class Endpoints : public DoorTest {
 protected:
  void SetUp() override {
    DoorTest::SetUp();
    python_ = needs::python_with("json");
    if (python_.empty()) GTEST_SKIP() << needs::package("python3");
    write("app.py", kApplication);
  }
  /// A job that runs the application, its endpoint "web".
  void start_application() {
    const std::string port = std::to_string(ports_.first());
    id_ = running(python_ + " " + (folder_ / "app.py").string() + " " + folder_.string() + " " +
                      port + " & exec sleep 1000",
                  {"--endpoint", "web=" + port});
    ASSERT_TRUE(eventually([&] { return fs::exists(folder_ / "listens"); }));
    application_ = static_cast<pid_t>(std::stol(read_file(folder_ / "listens")));
  }

  std::string python_;
  testing::ReservedPorts ports_;
  pid_t application_ = -1;
  long id_ = 0;
};

TEST_F(Endpoints, ARequestArrivesWithoutThePlatformsSecrets) {
  serve();
  start_application();
  const Guest guest = open(id_, "web");
  EXPECT_EQ(guest.host, fmt::format("job{}-web.localhost:{}", id_, server().port()));
  const Reply reply = ask(guest.host, "POST", "/a/b?c=d",
                          {{"Cookie", guest.cookie + "; theirs=2; assay_session=SECRET"},
                           {"Authorization", "Bearer " + admin_token()},
                           {"X-Own", "kept"}},
                          "a body");
  ASSERT_EQ(reply.status, 200) << reply.head << reply.body;
  const Json said = parse_json_or_null(reply.body);
  EXPECT_EQ(said["line"], "POST /a/b?c=d HTTP/1.1");
  EXPECT_EQ(said["body"], "a body");
  EXPECT_EQ(said["headers"]["x-own"], "kept");
  EXPECT_EQ(said["headers"]["cookie"], "theirs=2");
  EXPECT_FALSE(said["headers"].contains("authorization"));
  EXPECT_THAT(reply.body, AllOf(Not(HasSubstr("SECRET")), Not(HasSubstr("assay_door="))));
}

TEST_F(Endpoints, AnAnswerStaysOnItsOwnSite) {
  serve();
  start_application();
  const Guest guest = open(id_, "web");
  const Reply reply = ask(guest.host, "GET", "/", {{"Cookie", guest.cookie}});
  EXPECT_EQ(reply.header("Set-Cookie"), "mine=1; Path=/");
  EXPECT_THAT(reply.head, AllOf(Not(HasSubstr("evil")), Not(HasSubstr("Clear-Site-Data"))));
}

TEST_F(Endpoints, NobodyComesInWithoutATicketOfTheirOwn) {
  serve();
  start_application();
  const Guest guest = open(id_, "web");
  const std::string here = guest.host;
  EXPECT_EQ(ask(here, "GET", "/").status, 401);
  EXPECT_EQ(ask(here, "GET", "/", {{"Cookie", "assay_door=wrong"}}).status, 401);
  EXPECT_EQ(ask(here, "GET", "/", {{"Authorization", "Bearer " + admin_token()}}).status, 401);
  EXPECT_EQ(ask(here, "GET", "/.assay/enter?ticket=wrong").status, 403);
  // The cookie of one endpoint is none of another.
  const std::string other = fmt::format("job{}-jupyter.localhost:{}", id_, server().port());
  EXPECT_EQ(ask(other, "GET", "/", {{"Cookie", guest.cookie}}).status, 401);
  // A ticket is used up.
  const Reply opened = api("POST", fmt::format("/jobs/{}/endpoints/web/open", id_));
  const std::string url = text_at(parse_json_or_null(opened.body), "url");
  const std::string path = url.substr(url.find("/.assay"));
  EXPECT_EQ(ask(here, "GET", path).status, 303);
  EXPECT_EQ(ask(here, "GET", path).status, 403);
  // Somebody else's job.
  const std::string eve = make_member("eve");
  EXPECT_EQ(api("POST", fmt::format("/jobs/{}/endpoints/web/open", id_), "", eve).status, 404);
  EXPECT_EQ(api("POST", fmt::format("/jobs/{}/endpoints/nope/open", id_)).status, 404);
  EXPECT_EQ(api("GET", fmt::format("/jobs/{}/endpoints/nope", id_)).status, 404);
}

TEST_F(Endpoints, OfAJobThatHasEndedThereIsNoTicket) {
  serve();
  start_application();
  EXPECT_EQ(assay({"cancel", std::to_string(id_)}).status.code, 0);
  ASSERT_TRUE(eventually([&] { return state(id_) == "killed"; }, std::chrono::seconds(60)));
  const Reply late = api("POST", fmt::format("/jobs/{}/endpoints/web/open", id_));
  EXPECT_EQ(late.status, 409) << late.body;
  EXPECT_THAT(late.body, HasSubstr(std::to_string(id_)));
}

TEST_F(Endpoints, WhoIsNoLongerInvitedIsOutAtOnce) {
  serve();
  start_application();
  const std::string eve = make_member("eve");
  const std::string job = fmt::format("/jobs/{}", id_);
  ASSERT_EQ(api("PATCH", job, R"({"shared_with":["eve"]})").status, 200);
  const Guest guest = open(id_, "web", eve);
  EXPECT_EQ(ask(guest.host, "GET", "/", {{"Cookie", guest.cookie}}).status, 200);
  ASSERT_EQ(api("PATCH", job, R"({"shared_with":[]})").status, 200);
  EXPECT_EQ(ask(guest.host, "GET", "/", {{"Cookie", guest.cookie}}).status, 401);
}

TEST_F(Endpoints, PagesOfOtherSitesCannotUseAVisit) {
  serve();
  start_application();
  const Guest guest = open(id_, "web");
  const auto asked = [&](Headers headers) {
    headers["Cookie"] = guest.cookie;
    return ask(guest.host, headers.contains("Origin") ? "POST" : "GET", "/", headers).status;
  };
  EXPECT_EQ(asked({{"Origin", "http://evil.example"}}), 403);
  EXPECT_EQ(asked({{"Origin", "null"}}), 403);
  EXPECT_EQ(asked({{"Origin", fmt::format("http://localhost:{}", server().port())}}), 403);
  EXPECT_EQ(asked({{"Origin", "http://" + guest.host}}), 200);
  EXPECT_EQ(asked({{"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Mode", "no-cors"}}), 403);
  EXPECT_EQ(asked({{"Sec-Fetch-Site", "cross-site"},
                   {"Sec-Fetch-Mode", "navigate"},
                   {"Sec-Fetch-Dest", "document"}}),
            200)
      << "somebody follows a link";
  EXPECT_EQ(asked({{"Sec-Fetch-Site", "cross-site"},
                   {"Sec-Fetch-Mode", "navigate"},
                   {"Sec-Fetch-Dest", "iframe"}}),
            403);
  // A WebSocket of another site's page.
  const Reply socket = ask(guest.host, "GET", "/ws",
                           {{"Cookie", guest.cookie},
                            {"Origin", "http://evil.example"},
                            {"Connection", "Upgrade"},
                            {"Upgrade", "websocket"},
                            {"Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="}});
  EXPECT_EQ(socket.status, 403);
}

TEST_F(Endpoints, AWebSocketIsCarriedBothWays) {
  serve();
  start_application();
  const Guest guest = open(id_, "web");
  const UniqueFd fd = connect();
  write_all(fd.get(),
            "GET /ws HTTP/1.1\r\nHost: " + guest.host + "\r\nCookie: " + guest.cookie +
                "\r\nOrigin: http://" + guest.host +
                "\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
                "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
            "server");
  EXPECT_THAT(read_until(fd.get(), "\r\n\r\n"),
              AllOf(HasSubstr("101"), HasSubstr("s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")));
  for (const char* word : {"first", "second"}) {
    write_all(fd.get(), word, "server");
    EXPECT_THAT(read_until(fd.get(), word), HasSubstr(std::string("echo:") + word));
  }
}

TEST_F(Endpoints, AStreamComesAsItIsSent) {
  serve();
  start_application();
  const Guest guest = open(id_, "web");
  const UniqueFd fd = connect();
  write_all(
      fd.get(),
      "GET /stream HTTP/1.1\r\nHost: " + guest.host + "\r\nCookie: " + guest.cookie + "\r\n\r\n",
      "server");
  EXPECT_THAT(read_until(fd.get(), "one\n\n"), HasSubstr("data: one"));
  write("second", "");
  EXPECT_THAT(read_until(fd.get(), "two\n\n"), HasSubstr("data: two"));
}

TEST_F(Endpoints, WhatIsNoHttpIsSaidOnAPage) {
  serve();
  start_application();
  const Guest guest = open(id_, "web");
  const auto page = [&](const std::string& path) {
    const Reply reply = ask(guest.host, "GET", path, {{"Cookie", guest.cookie}});
    EXPECT_EQ(reply.status, 502) << path;
    EXPECT_THAT(reply.header("Content-Security-Policy"), HasSubstr("default-src 'none'"));
    return reply.body;
  };
  EXPECT_THAT(page("/garbage"), HasSubstr("does not answer with HTTP"));
  EXPECT_THAT(page("/endless-head"), HasSubstr("too long"));
  EXPECT_THAT(page("/smuggle"), HasSubstr("two ways"));
  EXPECT_THAT(page("/nothing"), HasSubstr("without an answer"));
  const Reply cut = ask(guest.host, "GET", "/more-than-it-says", {{"Cookie", guest.cookie}});
  EXPECT_EQ(cut.body, "hi");
}

TEST_F(Endpoints, AServiceThatDiedIsSaidWithAdvice) {
  serve();
  start_application();
  const Guest guest = open(id_, "web");
  const std::string path = fmt::format("/jobs/{}/endpoints/web", id_);
  EXPECT_EQ(parse_json_or_null(api("GET", path).body)["state"], "open");
  send_signal(application_, SIGKILL);
  ASSERT_TRUE(
      eventually([&] { return parse_json_or_null(api("GET", path).body)["state"] == "refused"; }));
  const Reply refused = api("POST", path + "/open");
  EXPECT_EQ(refused.status, 409);
  EXPECT_EQ(parse_json_or_null(refused.body)["error"]["code"], "refused");
  const Reply dead = ask(guest.host, "GET", "/", {{"Cookie", guest.cookie}});
  EXPECT_EQ(dead.status, 502);
  EXPECT_THAT(dead.body, AllOf(HasSubstr("nothing listens on port"), HasSubstr("console")));
  ASSERT_EQ(api("POST", fmt::format("/jobs/{}/kill", id_)).status, 200);
  ASSERT_TRUE(eventually([&] { return state(id_) == "killed"; }, std::chrono::seconds(120)));
  const Reply ended = ask(guest.host, "GET", "/", {{"Cookie", guest.cookie}});
  EXPECT_EQ(ended.status, 503);
  EXPECT_THAT(ended.body, HasSubstr("while the job runs"));
}

TEST_F(Endpoints, AnotherJobsProgramOnTheNodeIsNotReached) {
  serve();
  start_application();
  const long other = running("", {"--endpoint", fmt::format("web={}", ports_.first())});
  const Reply refused = api("POST", fmt::format("/jobs/{}/endpoints/web/open", other));
  EXPECT_EQ(refused.status, 409) << refused.head;
  EXPECT_THAT(refused.body, HasSubstr("is not the job's"));
}

TEST_F(Endpoints, AProgramThatLeftItsSessionAndEnvironmentIsStillTheJobs) {
  serve();
  const std::string port = std::to_string(ports_.first());
  id_ = running("env -i setsid " + python_ + " " + (folder_ / "app.py").string() + " " +
                    folder_.string() + " " + port + " & exec sleep 1000",
                {"--endpoint", "web=" + port});
  ASSERT_TRUE(eventually([&] { return fs::exists(folder_ / "listens"); }));
  const Guest guest = open(id_, "web");
  EXPECT_EQ(ask(guest.host, "GET", "/", {{"Cookie", guest.cookie}}).status, 200);
}

TEST_F(Endpoints, OneThatLeadsToTheServerItselfIsRefused) {
  serve();
  const long id = running("", {"--endpoint", fmt::format("self={}", server().port())});
  const Reply refused = api("POST", fmt::format("/jobs/{}/endpoints/self/open", id));
  EXPECT_EQ(refused.status, 409) << refused.head;
  EXPECT_THAT(refused.body, HasSubstr("is not the job's"));
}

TEST_F(Endpoints, ThroughTlsAWebSocketIsTheSame) {
  const std::string certificate = (folder_ / "door.crt").string();
  const std::string key = (folder_ / "door.key").string();
  const CommandResult made = run_command(
      {"openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
       "-keyout", key, "-out", certificate, "-days", "2", "-subj", "/CN=127.0.0.1", "-addext",
       "subjectAltName=IP:127.0.0.1"});
  ASSERT_TRUE(made.status.ok()) << made.err;
  serve({"--tls-certificate", certificate, "--tls-key", key});
  ::setenv("ASSAY_SERVER", server().url().c_str(), 1);
  ::setenv("ASSAY_TOKEN", admin_token().c_str(), 1);
  const CommandResult submitted =
      assay({"submit", "--ca", certificate, "--no-code", "--command", "exec sleep 1000"});
  ASSERT_EQ(submitted.status.code, 0) << submitted.err;
  const std::string text = fmt::format(
      "head -c 2000000 /dev/urandom > in; assay ssh --ca {} 1 -- 'cat' < in > out && cmp in out && "
      "echo same",
      certificate);
  EXPECT_TRUE(eventually([&] { return shell(text).out == "same\n"; }, std::chrono::seconds(90)))
      << shell(text).err;
  EXPECT_EQ(assay({"cancel", "--ca", certificate, "1"}).status.code, 0);
}

}  // namespace
}  // namespace assay::e2e
