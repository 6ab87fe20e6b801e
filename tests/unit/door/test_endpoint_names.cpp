#include <gtest/gtest.h>

#include "door/endpoint_names.h"

namespace assay::door {
namespace {

jobs::Endpoint port(const std::string& name, int number) {
  return {.kind = jobs::EndpointKind::port, .name = name, .port = number};
}

TEST(EndpointNames, AreHostsAndBack) {
  const std::string host = host_of({7, "web"}, "localhost");
  EXPECT_EQ(host, "job7-web.localhost");
  for (const char* shown : {"job7-web.localhost", "JOB7-Web.LOCALHOST:8480"}) {
    const auto back = parse_host(shown, "localhost");
    ASSERT_TRUE(back) << shown;
    EXPECT_EQ(back->job, 7);
    EXPECT_EQ(back->label, "web");
  }
}

TEST(EndpointNames, OtherHostsAreNone) {
  for (const char* host :
       {"localhost", "localhost:8480", "127.0.0.1", "job7-web.localhost.evil.example",
        "evil.job7-web.localhost", "job7.localhost", "job-web.localhost", "job07-web.localhost",
        "job7-.localhost", "job0-web.localhost", "job7-we_b.localhost", "job7-web.example", "",
        "job99999999999999999999-web.localhost"})
    EXPECT_FALSE(parse_host(host, "localhost")) << host;
  EXPECT_FALSE(parse_host("job7-web.", ""));
}

TEST(EndpointNames, OfAPortCanStandInAHost) {
  EXPECT_EQ(label_of(port("web", 80)), "web");
  EXPECT_EQ(label_of(port("My_App.v2", 8080)), "port-8080");
  EXPECT_EQ(label_of(port("jupyter", 8080)), "port-8080") << "the service has that one";
  EXPECT_EQ(label_of({.kind = jobs::EndpointKind::vscode}), "vscode");
}

TEST(EndpointNames, EveryJobHasItsServicesAndThePortsThatItNames) {
  jobs::Submission submission;
  submission.endpoints = {{.kind = jobs::EndpointKind::ssh}, port("web", 80)};
  std::vector<std::string> labels;
  for (const auto& endpoint : endpoints_of(submission)) labels.push_back(label_of(endpoint));
  EXPECT_EQ(labels, (std::vector<std::string>{"jupyter", "tensorboard", "vscode", "web"}));
}

}  // namespace
}  // namespace assay::door
