#include "emulator_process.h"

#include <csignal>
#include <random>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/files.h"

namespace assay::cloud {

EmulatorTest::EmulatorTest() = default;

EmulatorTest::~EmulatorTest() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGTERM);
  int status = 0;
  ::waitpid(pid_, &status, 0);
  EXPECT_TRUE(WIFEXITED(status)) << "the emulator did not end by itself";
}

http::ClientOptions EmulatorTest::quick() {
  http::ClientOptions options;
  options.retry.first_pause = std::chrono::milliseconds(5);
  options.retry.longest_pause = std::chrono::milliseconds(50);
  options.stall_timeout = std::chrono::seconds(30);
  return options;
}

void EmulatorTest::start(const Json& settings) {
  ASSERT_EQ(pid_, -1) << "started twice";
  Json config = {{"access_key", access_key_}, {"secret_key", secret_key_},
                 {"user", "tester"},          {"password", password_},
                 {"domain", "assay"},         {"buckets", {"bucket-one"}}};
  config.update(settings);
  write_file_atomic(folder_ / "emulator.json", dump_pretty(config), false);
  Pipe out = make_pipe();
  const std::string program = ASSAY_BIN_DIR "/assay-cloud-emulator";
  const std::string file = (folder_ / "emulator.json").string();
  const std::string root = (folder_ / "emulator").string();
  const std::string errors = (folder_ / "emulator.err").string();
  pid_ = ::fork();
  if (pid_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::dup2(out.write.get(), 1);
    ::dup2(::open(errors.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), 2);
    ::execl(program.c_str(), program.c_str(), "--config", file.c_str(), "--root", root.c_str(),
            nullptr);
    ::_exit(127);
  }
  out.write.reset();
  std::string line;
  char c = 0;
  while (::read(out.read.get(), &c, 1) == 1 && c != '\n') line += c;
  const std::string mark = "listening on ";
  ASSERT_EQ(line.rfind(mark, 0), 0U) << line << read_file_or_empty(errors);
  url_ = line.substr(mark.size());
}

const std::string& EmulatorTest::url() {
  if (pid_ == -1) start();
  return url_;
}

std::string EmulatorTest::host() {
  return url().substr(7);
}

Json EmulatorTest::control(const std::string& method, const std::string& path, const Json& body) {
  http::Request request;
  request.method = method;
  request.origin = url();
  request.path = "/_emulator/" + path;
  if (!body.is_null()) request.body = dump_line(body);
  const http::Response response = client_.send(request);
  EXPECT_EQ(response.status, 200) << response.body;
  return parse_json_or_null(response.body);
}

void EmulatorTest::fault(const Json& fault) {
  (void)control("POST", "faults", fault);
}
void EmulatorTest::expire_tokens() {
  (void)control("POST", "expire-tokens");
}
std::uint64_t EmulatorTest::count(const std::string& what) {
  return control("GET", "counts").value(what, std::uint64_t{0});
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
