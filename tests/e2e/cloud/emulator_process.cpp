#include "e2e/cloud/emulator_process.h"

#include <random>
#include <stdexcept>

#include <sys/wait.h>

#include "core/files.h"
#include "eventually.h"

namespace assay::cloud {

EmulatorProcess::EmulatorProcess(const std::filesystem::path& folder, const Json& settings) {
  write_file_atomic(folder / "emulator.json", dump_pretty(settings), false);
  server_.emplace(std::vector<std::string>{ASSAY_BIN_DIR "/assay-cloud-emulator", "--config",
                                           (folder / "emulator.json").string(), "--root",
                                           (folder / "emulator").string()},
                  folder / "emulator.err");
}

void EmulatorProcess::kill() {
  server_->kill();
  server_.reset();
}

EmulatorProcess::~EmulatorProcess() {
  if (!server_) return;
  EXPECT_TRUE(WIFEXITED(server_->end())) << "the emulator did not end by itself";
}

Json EmulatorProcess::control(http::Client& client, const std::string& method,
                              const std::string& path, const Json& body) const {
  http::Request request;
  request.method = method;
  request.origin = url();
  request.path = "/_emulator/" + path;
  if (!body.is_null()) request.body = dump_line(body);
  const http::Response response = client.send(request);
  if (response.status != 200) throw std::runtime_error(response.body);
  return parse_json_or_null(response.body);
}

http::ClientOptions EmulatorTest::quick() {
  http::ClientOptions options;
  options.retry.first_pause = std::chrono::milliseconds(5);
  options.retry.max_pause = std::chrono::milliseconds(50);
  options.stall_timeout = std::chrono::seconds(30);
  return options;
}

void EmulatorTest::start(const Json& settings) {
  Json config = {{"access_key", access_key_}, {"secret_key", secret_key_},
                 {"user", "tester"},          {"password", password_},
                 {"domain", "assay"},         {"buckets", {"bucket-one"}}};
  config.update(settings);
  process_.emplace(folder_, config);
}

EmulatorProcess& EmulatorTest::emulator() {
  if (!process_) start();
  return *process_;
}

const std::string& EmulatorTest::url() {
  return emulator().url();
}
std::string EmulatorTest::host() {
  return url().substr(7);
}

void EmulatorTest::fault(const Json& fault) {
  (void)emulator().control(client_, "POST", "faults", fault);
}

void EmulatorTest::clear_faults() {
  (void)emulator().control(client_, "DELETE", "faults");
}

void EmulatorTest::job_fault(const Json& fault) {
  (void)emulator().control(client_, "POST", "job-faults", fault);
}

void EmulatorTest::expire_tokens() {
  (void)emulator().control(client_, "POST", "expire-tokens");
}

std::uint64_t EmulatorTest::count(const std::string& what) {
  return emulator().control(client_, "GET", "counts").value(what, std::uint64_t{0});
}

void EmulatorTest::wait_for_requests(const std::string& what, std::uint64_t times) {
  EXPECT_TRUE(testing::eventually([&] { return count(what) >= times; }, std::chrono::minutes(1)))
      << what;
}

ObsOptions EmulatorTest::obs_options() {
  ObsOptions options;
  options.endpoint = url();
  options.multipart_from = 1 << 20;
  options.part_size = 256 << 10;
  options.parallel = 4;
  return options;
}

std::filesystem::path EmulatorTest::make_file(const std::string& name, std::size_t size) {
  std::mt19937_64 random(size + 1);
  std::string content(size, '\0');
  for (auto& c : content) c = static_cast<char>(random());
  const std::filesystem::path path = folder_ / name;
  make_directories(path.parent_path());
  write_file_atomic(path, content, false);
  return path;
}

}  // namespace assay::cloud
