#include <algorithm>
#include <string>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/files.h"
#include "serve/http_server.h"

namespace assay::serve {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// Says which route a request came by, and with which parameters.
class RoutesTest : public ::testing::Test {
 protected:
  RoutesTest()
      : server_(options(), [](const HttpRequest& request, const HttpServer::Respond& respond) {
          HttpResponse response;
          response.body = fmt::format("{} {} [{}]", request.method, request.route,
                                      fmt::join(request.parameters, "|"));
          respond(response);
        }) {
    server_.start();
  }

  static HttpOptions options() {
    HttpOptions options;
    options.read_timeout = options.handling_timeout = std::chrono::seconds(20);
    options.connections.total = 4;
    options.max_body = 1000;
    options.routes = {"/api/v1/health",
                      "/api/v1/tests",
                      "/api/v1/tests/([^/]+)",
                      "/api/v1/tests/([^/]+)/files/([^/]+)",
                      "/",
                      "/tests/([^/]+)",
                      "/tests/([^/]+)/report.html"};
    return options;
  }

  // The body of the answer.
  [[nodiscard]] std::string ask(const std::string& method, const std::string& target) const {
    const std::string reply =
        raw(fmt::format("{} {} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", method, target));
    return reply.substr(reply.find("\r\n\r\n") + 4);
  }
  // All that comes back; `rest` is sent when something has.
  [[nodiscard]] std::string raw(const std::string& request, const std::string& rest = {}) const {
    const UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(server_.port());
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0) return "";
    if (::write(fd.get(), request.data(), request.size()) < 0) return "";
    std::string reply;
    char buffer[4096];
    if (!rest.empty()) {
      const ssize_t first = ::read(fd.get(), buffer, sizeof buffer);
      reply.append(buffer, static_cast<std::size_t>(std::max<ssize_t>(first, 0)));
      if (::write(fd.get(), rest.data(), rest.size()) < 0) return "";
    }
    for (ssize_t n = 0; (n = ::read(fd.get(), buffer, sizeof buffer)) > 0;)
      reply.append(buffer, static_cast<std::size_t>(n));
    return reply;
  }

  HttpServer server_;
};

TEST_F(RoutesTest, LeadToTheirPatternWhateverTheMethod) {
  EXPECT_EQ(ask("GET", "/"), "GET / []");
  EXPECT_EQ(ask("GET", "/api/v1/health"), "GET /api/v1/health []");
  EXPECT_EQ(ask("POST", "/api/v1/tests?page=2"), "POST /api/v1/tests []");
  EXPECT_EQ(ask("DELETE", "/api/v1/tests"), "DELETE /api/v1/tests []");
}

TEST_F(RoutesTest, GiveTheirGroupsDecoded) {
  EXPECT_EQ(ask("GET", "/tests/20261115-ab3dE9"), "GET /tests/([^/]+) [20261115-ab3dE9]");
  EXPECT_EQ(ask("PUT", "/api/v1/tests/a%20b/files/7?offset=0"),
            "PUT /api/v1/tests/([^/]+)/files/([^/]+) [a b|7]");
  EXPECT_THAT(ask("GET", "/tests/..%2f..%2ftester.db"), HasSubstr("[../../tester.db]"));
  const std::string longest(2000, 'a');
  EXPECT_THAT(ask("GET", "/tests/" + longest), HasSubstr("[" + longest + "]"));
}

TEST_F(RoutesTest, FitAWholePathOnly) {
  for (const char* target :
       {"/tests", "/tests//report.html", "/tests/a/b/c", "/TESTS/a", "/api/v1", "/api/v2/tests",
        "/x/api/v1/tests", "/api/v1/tests/a/files", "/tests/../../etc/passwd"})
    EXPECT_EQ(ask("GET", target), "GET  []") << target;
}

TEST_F(RoutesTest, LenientBodiesAreRefusedAndAnExpectationIsAnswered) {
  const std::string put = "PUT /api/v1/tests HTTP/1.1\r\nHost: x\r\nConnection: close\r\n";
  const std::string chunked = put + "Transfer-Encoding: chunked\r\n\r\n";
  EXPECT_THAT(raw(chunked + "2\r\n{}\r\n0\r\n\r\n"), HasSubstr("HTTP/1.1 200 "));
  EXPECT_THAT(raw(put + "Content-Length: 2\r\nExpect: 100-continue\r\n\r\n", "{}"),
              AllOf(StartsWith("HTTP/1.1 100 Continue\r\n\r\n"), HasSubstr("HTTP/1.1 200 ")));
  EXPECT_THAT(raw(put + "Content-Length: 2\r\nExpect: more\r\n\r\n"),
              StartsWith("HTTP/1.1 417 Expectation Failed"));
}

TEST_F(RoutesTest, WhatCannotBeParsedIsAnswered) {
  const std::string put = "PUT /api/v1/tests HTTP/1.1\r\nHost: x\r\n";
  EXPECT_THAT(raw("GET /" + std::string(3000, 'a') + " HTTP/1.1\r\nHost: x\r\n\r\n"),
              HasSubstr("HTTP/1.1 414 URI Too Long"));
  EXPECT_THAT(raw(put + "A: " + std::string(64'000, 'a') + "\r\n\r\n"), HasSubstr("HTTP/1.1 431 "));
  EXPECT_THAT(raw(put + "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
              HasSubstr("HTTP/1.1 400 "));
  EXPECT_THAT(raw(put + "Content-Length: 1\r\nContent-Length: 2\r\n\r\nab"),
              HasSubstr("HTTP/1.1 400 "));
  EXPECT_THAT(raw(put + "Transfer-Encoding: chunked\r\n\r\nnot a size\r\n"),
              HasSubstr("HTTP/1.1 400 "));
  EXPECT_THAT(raw(put + "Content-Length: 99999\r\n\r\n" + std::string(5000, 'a')),
              HasSubstr("HTTP/1.1 413 "));
  EXPECT_EQ(ask("GET", "/"), "GET / []");
}

}  // namespace
}  // namespace assay::serve
