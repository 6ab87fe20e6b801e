#include <atomic>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/rest_client.h"
#include "small_server.h"

namespace assay::client {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const Json kRow = {{"id", 17}, {"name", "a"}, {"state", "queued"}, {"pending", "waits"}};

TEST(Client, SendsItsTokenAndReadsWhatComes) {
  SmallServer server([](const serve::HttpRequest&) {
    return SmallServer::json(200, {{"jobs", {kRow}}, {"total", 40}});
  });
  const Client client(server.as("secret"));
  JobQuery query;
  query.states = {"queued", "running"};
  query.search = "a b";
  const Answer<JobList> list = client.list(query);
  EXPECT_EQ(list.value.total, 40);
  ASSERT_EQ(list.value.jobs.size(), 1U);
  EXPECT_EQ(list.value.jobs[0].id, 17);
  EXPECT_TRUE(list.value.jobs[0].state.is(jobs::State::queued));
  EXPECT_EQ(list.json["jobs"][0]["pending"], "waits");
  const serve::HttpRequest request = server.requests().at(0);
  EXPECT_EQ(request.path, "/api/v1/jobs");
  EXPECT_EQ(request.query, "state=queued%2Crunning&search=a%20b&limit=50");
  EXPECT_EQ(request.header("authorization"), "Bearer secret");
}

TEST(Client, ASubmissionWhoseAnswerWasLostIsSentAgainWithItsKey) {
  std::atomic<int> count = 0;
  SmallServer server([&](const serve::HttpRequest&) {
    return ++count == 1 ? SmallServer::error(500, "internal", "a moment")
                        : SmallServer::json(201, {{"jobs", {kRow}}});
  });
  const Client client(server.as("t"));
  const Answer<JobList> jobs =
      client.submit({{{"name", "a"}, {"command", "true"}}, "vision", "c1"}, "key");
  EXPECT_EQ(jobs.value.jobs.at(0).id, 17);
  ASSERT_EQ(server.requests().size(), 2U);
  for (const serve::HttpRequest& request : server.requests())
    EXPECT_EQ(parse_json_or_null(request.body), Json({{"name", "a"},
                                                      {"command", "true"},
                                                      {"team", "vision"},
                                                      {"code", "c1"},
                                                      {"request_key", "key"}}));
}

TEST(Client, ADeedIsNotSentTwice) {
  SmallServer server(
      [](const serve::HttpRequest&) { return SmallServer::error(500, "internal", "a moment"); });
  const Client client(server.as("t"));
  EXPECT_THROW((void)client.ask_of(17, "kill"), Refused);
  EXPECT_EQ(server.requests().size(), 1U);
  EXPECT_EQ(server.requests()[0].path, "/api/v1/jobs/17/kill");
}

TEST(Client, ANameInAPathIsEncodedOnce) {
  SmallServer server(
      [](const serve::HttpRequest&) { return SmallServer::json(200, Json::object()); });
  const Client client(server.as("t"));
  (void)client.put_schedule("a@b", "@hourly", {});
  client.remove_schedule("a@b", "");
  for (const serve::HttpRequest& request : server.requests())
    EXPECT_EQ(request.path, "/api/v1/schedules/a%40b");
  EXPECT_THAT(thrown_by([&] { client.remove_schedule("a/b", ""); }).message(),
              HasSubstr("has no '/'"));
}

TEST(Client, AServerWithoutRoomIsNotOneThatCannotBeReached) {
  std::string code = "no_room";
  SmallServer server(
      [&](const serve::HttpRequest&) { return SmallServer::error(503, code, "the disk is full"); });
  const Client client(server.as("t"));
  const auto kind = [&] { return thrown_by([&] { (void)client.ask_of(17, "kill"); }).kind(); };
  EXPECT_EQ(kind(), ErrorKind::environment);
  code = "busy";
  EXPECT_EQ(kind(), ErrorKind::launch);
}

TEST(Client, SaysHowToSignIn) {
  SmallServer server([](const serve::HttpRequest&) {
    return SmallServer::error(401, "not_signed_in", "no such token");
  });
  Error error = thrown_by([&] { (void)Client(server.as("")).session(); });
  EXPECT_EQ(error.kind(), ErrorKind::environment);
  EXPECT_THAT(error.what(), HasSubstr("you are not signed in"));
  EXPECT_THAT(error.advice(), HasSubstr("assay login " + server.url()));
  error = thrown_by([&] { (void)Client(server.as("wrong-token")).session(); });
  EXPECT_THAT(error.what(), HasSubstr("does not accept the token: no such token"));
  EXPECT_THAT(error.what(), Not(HasSubstr("wrong-token")));
}

TEST(Client, KeepsTheProblemsOfASubmission) {
  SmallServer server([](const serve::HttpRequest&) {
    return SmallServer::json(
        422, {{"error",
               {{"code", "problems"},
                {"message", "the job cannot be submitted"},
                {"problems", {{{"path", "nodes"}, {"message", "expected a number"}}}}}}});
  });
  try {
    (void)Client(server.as("t")).submit({{{"name", "a"}}, "", ""}, "key");
    FAIL();
  } catch (const Refused& refused) {
    EXPECT_EQ(refused.status(), 422);
    EXPECT_EQ(refused.kind(), ErrorKind::usage);
    ASSERT_EQ(refused.problems().size(), 1U);
    EXPECT_EQ(refused.problems()[0], (jobs::Problem{"nodes", "expected a number"}));
    EXPECT_THAT(refused.what(), HasSubstr("nodes: expected a number"));
  }
}

TEST(Client, AServerThatIsNotThereIsNamedWithTheSourceOfItsAddress) {
  std::string url;
  {
    const SmallServer gone([](const serve::HttpRequest&) { return serve::HttpResponse(); });
    url = gone.url();
  }
  const Error error = thrown_by([&] { (void)Client({url, "t", {}, "ASSAY_SERVER"}).session(); });
  EXPECT_EQ(error.kind(), ErrorKind::launch);
  EXPECT_THAT(error.what(), HasSubstr("the server cannot be reached"));
  EXPECT_THAT(error.what(), HasSubstr(url));
  EXPECT_THAT(error.advice(), HasSubstr("ASSAY_SERVER"));
}

TEST(Client, AnotherProgramsAnswerIsNotTaken) {
  SmallServer server([](const serve::HttpRequest& request) {
    serve::HttpResponse response;
    response.status = request.path.ends_with("session") ? 200 : 404;
    response.body = "<html>hello</html>";
    return response;
  });
  const Client client(server.as("t"));
  EXPECT_THAT(thrown_by([&] { (void)client.session(); }).what(),
              HasSubstr("not that of Assay's server"));
  EXPECT_THAT(thrown_by([&] { (void)client.job(1); }).what(),
              HasSubstr("status 404 and is not that of Assay's server"));
}

TEST(Client, WaitsNoLongerThanItsLimit) {
  serve::HttpOptions options;
  options.read_timeout = options.handling_timeout = std::chrono::seconds(60);
  options.connections.total = 4;
  options.max_body = 1000;
  std::vector<serve::HttpServer::Respond> never;
  serve::HttpServer server(
      options, [&](const serve::HttpRequest&, const serve::HttpServer::Respond& respond) {
        never.push_back(respond);
      });
  server.start();
  const Connection connection({fmt::format("http://127.0.0.1:{}", server.port()), "t", {}, "here"});
  const Error error = thrown_by(
      [&] { (void)connection.ask({.path = "/session", .limit = std::chrono::milliseconds(200)}); });
  EXPECT_EQ(error.kind(), ErrorKind::launch);
  EXPECT_THAT(error.what(), HasSubstr("got no answer within 200 ms"));
  server.stop();
  never.clear();  // they belong to the server
}

TEST(Client, HandsOverTheNewsOfJobs) {
  SmallServer server([](const serve::HttpRequest&) {
    serve::HttpResponse response;
    response.type = "text/event-stream";
    response.body =
        "event: ping\ndata: {}\n\nevent: job\ndata: {\"id\":17,\"state\":\"running\",\"words\":"
        "\"started\"}\n\n";
    return response;
  });
  std::vector<JobNews> news;
  Client(server.as("t")).watch({}, [&](const JobNews& one) { news.push_back(one); });
  ASSERT_EQ(news.size(), 1U);
  EXPECT_EQ(news[0].id, 17);
  EXPECT_TRUE(news[0].state.is(jobs::State::running));
  EXPECT_EQ(news[0].words, "started");
}

TEST(Client, SignsInWithAPasswordForATokenOfItsOwn) {
  SmallServer server([](const serve::HttpRequest& request) {
    if (request.path == "/api/v1/tokens")
      return request.header("cookie") == "assay_session=abc" &&
                     request.header("x-csrf-token") == "csrf"
                 ? SmallServer::json(201, {{"token", "fresh"}})
                 : SmallServer::error(401, "not_signed_in", "who?");
    serve::HttpResponse response = SmallServer::json(200, {{"user", "ann"}, {"csrf", "csrf"}});
    response.headers = {{"Set-Cookie", "assay_session=abc; HttpOnly; Path=/"}};
    return response;
  });
  EXPECT_EQ(Client(server.as("")).make_token("ann", "pw", "laptop"), "fresh");
  ASSERT_EQ(server.requests().size(), 3U);
  EXPECT_EQ(server.requests()[2].method, "DELETE");
}

TEST(Client, ATemplateOfOnesOwnComesFirst) {
  SmallServer server([](const serve::HttpRequest&) {
    const auto with = [](const char* scope, const char* queue) {
      return Json{{"scope", scope}, {"name", "big"}, {"content", {{"queue", queue}}}};
    };
    return SmallServer::json(
        200, {{"templates", {with("all", "a"), with("own", "b"), with("team:x", "c")}}});
  });
  const Client client(server.as("t"));
  EXPECT_EQ(client.template_named("big"), Json({{"queue", "b"}}));
  EXPECT_THAT(thrown_by([&] { (void)client.template_named("bog"); }).what(),
              HasSubstr("did you mean 'big'?"));
}

}  // namespace
}  // namespace assay::client
