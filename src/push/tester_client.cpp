#include "push/tester_client.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "core/error.h"
#include "core/files.h"
#include "core/json_access.h"
#include "core/regular_file.h"
#include "core/run_layout.h"
#include "core/sha256.h"
#include "core/text.h"
#include "core/time.h"
#include "push/part_size.h"
#include "push/sent_files.h"
#include "push/tester_connection.h"
#include "serve/random_text.h"
#include "store/run_dir.h"
#include "tester/claim.h"
#include "tester/manifest.h"

namespace assay::push {

namespace fs = std::filesystem;

namespace {

using serve::random_hex;
using tester::Manifest;
using tester::ManifestFile;

constexpr std::chrono::minutes kMaxJudgement{30};

// The state for resuming an interrupted push; contains no secret.
struct PushState {
  std::string url;
  std::string key;  ///< Idempotency-Key: yields the same test if the answer was lost
  std::string test_id;
  std::string manifest;  ///< SHA-256 of what is to be sent
};

PushState read_state(const fs::path& run) {
  const Json json = parse_json_or_null(read_regular_file_or_empty(run / layout::kPush));
  PushState state;
  if (!json.is_object()) return state;
  const auto text = [&](const char* key) {
    const auto found = json.find(key);
    return found != json.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  state.url = text("url");
  state.key = text("key");
  state.test_id = text("test_id");
  state.manifest = text("manifest");
  return state;
}

void write_state(const fs::path& run, const PushState& state) {
  write_file_atomic(run / layout::kPush, dump_pretty({{"url", state.url},
                                                      {"key", state.key},
                                                      {"test_id", state.test_id},
                                                      {"manifest", state.manifest}}));
}

std::string test_path(const std::string& id) {
  return "/api/v1/tests/" + id;
}

std::string make_test(Connection& connection, const std::string& key, const Json& body) {
  http::Request request;
  request.method = "POST";
  request.path = "/api/v1/tests";
  request.body = dump_line(body);
  request.set_header("Content-Type", "application/json");
  request.set_header("Idempotency-Key", key);
  const Connection::Answer answer = connection.ask(std::move(request));
  if (answer.status != 201 && answer.status != 200) connection.refuse(answer);
  const auto id = answer.body.find("test_id");
  if (id == answer.body.end() || !id->is_string()) connection.refuse(answer);
  return id->get<std::string>();
}

Json test_of(const PushOptions& options) {
  Json body = {{"name", options.name}};
  if (options.ais.is_object() && !options.ais.empty()) body["ais"] = options.ais;
  return body;
}

std::string read_part(const fs::path& path, std::uint64_t offset, std::uint64_t size) {
  const UniqueFd file = open_regular_file(path);
  if (!file) throw system_error(ErrorKind::environment, "cannot read", path.string(), ENOENT);
  std::string part(size, '\0');
  for (std::size_t done = 0; done < part.size();) {
    const ssize_t n = ::pread(file.get(), part.data() + done, part.size() - done,
                              static_cast<off_t>(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw system_error(ErrorKind::environment, "cannot read", path.string(), errno);
    if (n == 0)
      throw Error(ErrorKind::environment, "the file has become shorter while it was sent",
                  path.string(), "push the run again when nothing writes to it");
    done += static_cast<std::size_t>(n);
  }
  return part;
}

// Logs shrink to a tenth; files that do not shrink are sent uncompressed.
std::optional<std::string> packed(const std::string& part) {
  if (part.size() < 512) return std::nullopt;
  std::string out(ZSTD_compressBound(part.size()), '\0');
  const std::size_t size = ZSTD_compress(out.data(), out.size(), part.data(), part.size(), 1);
  if (ZSTD_isError(size) != 0U || size > part.size() - part.size() / 10) return std::nullopt;
  out.resize(size);
  return out;
}

class Push {
 public:
  Push(fs::path run, Connection& connection, const PushOptions& options, const Manifest& manifest)
      : run_(std::move(run)),
        connection_(connection),
        options_(options),
        manifest_(manifest),
        total_(manifest.bytes()) {}

  // Returns false if the test no longer exists or is for something else; a new one is then needed,
  // unless the run already is another test.
  bool send_manifest(const std::string& id) {
    Json body = to_json(manifest_);
    if (options_.test_id) body["reserved"] = true;  // keeps it for its run if this one is another
    const auto answer = connection_.ask("PUT", test_path(id) + "/manifest", body);
    if (answer.status == 200) return true;
    const std::string code = text_at(object_at(answer.body, "error"), "code");
    ended_ = answer.status == 409 && code == "finished";
    if (ended_) return true;
    if (answer.status == 409 && code == "same_run") {
      same_run_ = text_at(answer.body, "test_id");
      return false;
    }
    if (answer.status == 404 || (answer.status == 409 && code == "manifest_exists")) return false;
    connection_.refuse(answer);
  }

  /// The existing test for the run; empty if none.
  [[nodiscard]] const std::string& same_run() const { return same_run_; }

  void send_files(const std::string& id, bool resumed) {
    if (ended_) return;
    report();
    for (std::size_t n = 0; n < manifest_.files.size(); ++n) send_file(id, n, resumed);
  }

  PushOutcome finish(const std::string& id) {
    const std::int64_t deadline = mono_now_ns() + Nanoseconds(kMaxJudgement).count();
    while (true) {
      const auto answer = connection_.ask("POST", test_path(id) + "/finish");
      if (answer.status == 200 || (answer.status == 422 && answer.body.contains("reasons")))
        return {id, answer.status == 200, answer.body, connection_.origin() + "/tests/" + id};
      if (answer.status != 202) connection_.refuse(answer);
      if (mono_now_ns() > deadline)
        throw Error(ErrorKind::launch, "the tester did not judge the test within 30 minutes",
                    connection_.origin(), "repeat the push later: nothing is sent twice");
      if (!http::pause_unless_stopped(std::chrono::seconds(1), options_.stop))
        throw Error(ErrorKind::launch, "stopped", {}, "repeat the push to see the judgement");
    }
  }

 private:
  void send_file(const std::string& id, std::size_t n, bool resumed) {
    const ManifestFile& file = manifest_.files[n];
    const std::string path = fmt::format("{}/files/{}", test_path(id), n);
    std::uint64_t here = 0;
    bool begun_again = false;
    if (resumed) {
      const auto answer = connection_.ask("GET", path);
      if (answer.status != 200) connection_.refuse(answer);
      here = received(answer);
      if (here == file.size && file.size > 0) {
        done_ += file.size;
        report();
        return;
      }
    }
    const std::uint64_t before = done_;
    do {
      const std::string part =
          read_part(run_ / file.path, here, std::min(part_.bytes(), file.size - here));
      http::Request request;
      request.method = "PUT";
      request.path = path;
      request.query = {{"offset", std::to_string(here)}};
      request.set_header("Content-Type", "application/octet-stream");
      if (auto small = packed(part)) {
        request.set_header("Content-Encoding", "zstd");
        request.body = std::move(*small);
      } else {
        request.body = part;
      }
      const auto answer = send_part(std::move(request), path, part.size());
      const bool wrong_hash = answer.status == 422 && answer.body.contains("received");
      if (wrong_hash && begun_again)
        throw Error(ErrorKind::environment, "the file changes while it is sent",
                    (run_ / file.path).string(), "push the run again when nothing writes to it");
      if (answer.status != 200 && !wrong_hash &&
          !(answer.status == 409 && answer.body.contains("received")))
        connection_.refuse(answer);
      begun_again |= wrong_hash;
      here = received(answer);
      done_ = before + std::min(here, file.size);
      report();
    } while (here < file.size);
  }

  // Replaces a part that does not get through with smaller ones; the tester says where to continue.
  Connection::Answer send_part(http::Request request, const std::string& path, std::size_t size) {
    const std::int64_t began_ns = mono_now_ns();
    try {
      Connection::Answer answer = connection_.ask(std::move(request));
      if (size == part_.bytes()) part_.took(static_cast<double>(mono_now_ns() - began_ns) / 1e9);
      return answer;
    } catch (const Error&) {
      if (options_.stop.stop_requested() || size < PartSize::kLeast || !part_.failed()) throw;
    }
    return connection_.ask("GET", path);
  }

  std::uint64_t received(const Connection::Answer& answer) const {
    const auto found = answer.body.find("received");
    if (found == answer.body.end() || !found->is_number_unsigned()) connection_.refuse(answer);
    return found->get<std::uint64_t>();
  }

  void report() const {
    if (options_.progress) options_.progress(done_, total_);
  }

  fs::path run_;
  Connection& connection_;
  const PushOptions& options_;
  const Manifest& manifest_;
  std::uint64_t total_;
  std::uint64_t done_ = 0;
  PartSize part_;
  std::string same_run_;
  bool ended_ = false;
};

}  // namespace

std::string find_token(const fs::path& token_file) {
  constexpr const char* kAdvice =
      "the tester's operator makes one with 'assay serve token add NAME'; give it in "
      "ASSAY_TESTER_TOKEN or in a file with --token-file, never on the command line";
  std::string token;
  if (!token_file.empty()) {
    struct stat found {};
    if (::stat(token_file.c_str(), &found) == 0 && (found.st_mode & 077) != 0)
      throw Error(ErrorKind::environment, "others can read the file with the token",
                  token_file.string(), "chmod 600 " + token_file.string());
    const std::string text = read_file(token_file);
    token = std::string(trim(std::string_view(text).substr(0, text.find('\n'))));
  } else if (const char* value = std::getenv("ASSAY_TESTER_TOKEN"); value != nullptr) {
    token = std::string(trim(value));
  }
  if (token.empty())
    throw Error(ErrorKind::environment, "there is no token for the tester", token_file.string(),
                kAdvice);
  if (std::ranges::any_of(token, [](char c) { return c <= ' ' || c > '~'; }))
    throw Error(ErrorKind::environment, "not a valid token", token_file.string(), kAdvice);
  return token;
}

std::string reserve_test(const Tester& tester, const PushOptions& options) {
  Connection connection(tester, options.stop);
  return make_test(connection, random_hex(16), test_of(options));
}

void check_test(const Tester& tester, const std::string& test_id) {
  Connection connection(tester, {});
  const Connection::Answer answer = connection.ask("GET", test_path(test_id));
  if (answer.status == 404)
    throw Error(ErrorKind::config,
                "the tester has no test '" + printable(test_id) + "' for this token",
                connection.origin(),
                "leave testid out of config.json to get one, or have one reserved for this token "
                "('assay serve reserve')");
  if (answer.status != 200) connection.refuse(answer);
  const std::string status = text_at(answer.body, "status");
  if (status != "open" && status != "uploading")
    throw Error(ErrorKind::config,
                "the test " + printable(test_id) + " has its run already: " + printable(status),
                connection.origin(), "leave testid out of config.json to get a new one");
}

PushOutcome push_run(const fs::path& path, const Tester& tester, const PushOptions& options) {
  const store::RunDir run = store::RunDir::open(path);
  if (store::RunLock::held(run.path()))
    throw Error(ErrorKind::usage, "the run is still going on", run.path().string(),
                "push it when it has ended");
  check_for_secrets(run.plan());
  const fs::path result = run.path() / layout::kResult;
  if (!fs::exists(result))
    throw Error(ErrorKind::usage, "the run has no result.json, which is what is claimed",
                run.path().string(), "'assay report RUN' computes it");
  Manifest manifest;
  manifest.claim = tester::claim_of(read_regular_file(result), result.string());
  manifest.files = evidence_of(run);

  Connection connection(tester, options.stop);
  PushState state = read_state(run.path());
  const std::string hash = sha256(dump_line(to_json(manifest)));
  bool resumed = state.url == connection.origin() && state.manifest == hash && !state.key.empty() &&
                 (!options.test_id || *options.test_id == state.test_id);
  Push push(run.path(), connection, options, manifest);
  for (int tries = 0;; ++tries) {
    if (!resumed) {
      state = {connection.origin(), random_hex(16), options.test_id.value_or(""), hash};
      write_state(run.path(), state);
    }
    if (state.test_id.empty()) {
      state.test_id = make_test(connection, state.key, test_of(options));
      write_state(run.path(), state);
    }
    if (push.send_manifest(state.test_id)) break;
    if (const std::string& same = push.same_run(); !same.empty() && tries == 0) {
      if (options.test_id)
        throw Error(ErrorKind::environment, "the run is test " + same + " already",
                    connection.origin(), "'assay push' without a test id shows it");
      // Somebody is pushing the same run right now, or has already done so.
      state.test_id = same;
      write_state(run.path(), state);
      resumed = true;
      continue;
    }
    if (options.test_id || tries > 0)
      throw Error(ErrorKind::environment,
                  "the tester has no test " + state.test_id + " for this run", connection.origin(),
                  "push without a test id: a new test is made");
    resumed = false;
  }
  push.send_files(state.test_id, resumed);
  return push.finish(state.test_id);
}

}  // namespace assay::push
