#include "e2e/platform/platform_test.h"

#include <cstdlib>

#include "core/json_access.h"

namespace assay::e2e {

void PlatformTest::SetUp() {
  AssayTest::SetUp();
  // The user's own login is none of a test's business.
  fs::create_directories(folder_ / "home");
  ::setenv("HOME", (folder_ / "home").c_str(), 1);
  for (const char* name : {"XDG_CONFIG_HOME", "ASSAY_SERVER", "ASSAY_TOKEN"}) ::unsetenv(name);
  start_server();
}

void PlatformTest::kill_server() {
  server_->kill();
  server_.reset();
}

long PlatformTest::submit(std::vector<std::string> words) {
  words.insert(words.begin(), "submit");
  for (const char* more : {"--no-code", "--format", "json"}) words.emplace_back(more);
  const CommandResult result = assay(std::move(words));
  EXPECT_EQ(result.status.code, 0) << result.err;
  const Json answer = parse_json_or_null(result.out);
  const Json& jobs = list_at(answer, "jobs");
  return jobs.empty() ? 0 : static_cast<long>(integer_at(jobs[0], "id", 0));
}

Json PlatformTest::job(long id) {
  const CommandResult result = assay({"job", std::to_string(id), "--format", "json"});
  EXPECT_EQ(result.status.code, 0) << result.err;
  return parse_json_or_null(result.out);
}

std::string PlatformTest::state(long id) {
  return text_at(job(id), "state");
}

bool PlatformTest::becomes(long id, const std::string& wanted) {
  return eventually([&] { return state(id) == wanted; }, std::chrono::seconds(120));
}

}  // namespace assay::e2e
