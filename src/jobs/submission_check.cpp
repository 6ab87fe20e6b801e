#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "core/job_variables.h"
#include "core/one_line.h"
#include "core/plain_name.h"
#include "core/rendezvous_flavor.h"
#include "core/text.h"
#include "core/units.h"
#include "core/utf8_text.h"
#include "jobs/job_array.h"
#include "jobs/submission.h"

namespace assay::jobs {

namespace {

constexpr int kMaxNodes = 100'000;
constexpr int kMaxPerNode = 4096;
constexpr int kMaxRetries = 100;
constexpr std::size_t kMaxCommand = 64U << 10;
constexpr std::size_t kMaxSuite = 1U << 20;
constexpr std::size_t kMaxVariables = 1000;
constexpr std::size_t kMaxVariable = 32U << 10;
constexpr std::size_t kMaxSecrets = 100;
constexpr std::size_t kMaxMounts = 100;
constexpr std::size_t kMaxEndpoints = 20;
constexpr std::size_t kMaxAfter = 100;
constexpr std::size_t kMaxPath = 4096;
constexpr std::size_t kMaxWord = 64;
constexpr std::size_t kMaxImage = 512;
constexpr Nanoseconds kMinTime = std::chrono::seconds(1);
constexpr Nanoseconds kMaxTime = std::chrono::hours(24 * 365);
constexpr Nanoseconds kMaxKeep = std::chrono::hours(24 * 7);

std::string shown(std::string_view text) {
  return "'" + ellipsize(printable(text), 60) + "'";
}

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_variable(std::string_view name) {
  return !name.empty() && name.size() <= 255 && !is_digit(name[0]) &&
         std::ranges::all_of(name, [](char c) { return is_letter(c) || is_digit(c) || c == '_'; });
}
constexpr const char* kVariableNames =
    "not a valid name of a variable: letters, digits and '_', no digit first";

/// A name of a device type or endpoint.
bool is_word(std::string_view text) {
  return !text.empty() && text.size() <= kMaxWord && (is_letter(text[0]) || is_digit(text[0])) &&
         std::ranges::all_of(text, [](char c) {
           return is_letter(c) || is_digit(c) || c == '.' || c == '_' || c == '-';
         });
}

class SubmissionCheck {
 public:
  explicit SubmissionCheck(const Submission& submission) : job_(submission) {}

  std::vector<Problem> run() {
    name();
    what_is_run();
    number("nodes", job_.nodes, 1, kMaxNodes);
    number("procs", job_.procs, 1, kMaxPerNode);
    if (job_.devices) number("devices", *job_.devices, 1, kMaxPerNode);
    if (!job_.device_type.empty()) word("device_type", job_.device_type);
    if (!job_.image.empty()) image();
    if (!is_plain_name(job_.queue))
      problem("queue", fmt::format("not a valid name of a queue: {}; expected {}",
                                   shown(job_.queue), kPlainNames));
    if (job_.priority) number("priority", *job_.priority, 0, kMaxPriority);
    if (job_.time && (job_.time->value < kMinTime || job_.time->value > kMaxTime))
      problem("time", "a job may run for 1s to 365d");
    retries();
    env();
    secrets();
    mounts();
    endpoints();
    after();
    if (!job_.array.empty() && !parse_array(job_.array))
      problem("array", "not a valid array: " + shown(job_.array) +
                           "; expected such as 0-9%4, with at most 10000 different elements");
    return std::move(problems_);
  }

 private:
  void problem(std::string path, std::string message) {
    problems_.push_back({std::move(path), std::move(message)});
  }
  void number(const char* path, int value, int least, int most) {
    if (value < least || value > most)
      problem(path, fmt::format("expected a number from {} to {}, not {}", least, most, value));
  }
  void word(const std::string& path, const std::string& value) {
    if (!is_word(value))
      problem(path, "expected letters, digits, '.', '_' and '-', at most 64 of them, not " +
                        shown(value));
  }
  template <class List>
  bool is_too_long(const char* path, const List& list, std::size_t most) {
    if (list.size() <= most) return false;
    problem(path, fmt::format("at most {} are allowed, not {}", most, list.size()));
    return true;
  }

  void name() {
    if (job_.name.empty()) return problem("name", "a job needs a name");
    if (job_.name.size() > 4 * kMaxJobName || code_points(job_.name) > kMaxJobName)
      return problem("name", fmt::format("a name has at most {} characters", kMaxJobName));
    if (!is_one_line(job_.name))
      return problem("name",
                     "a name is one line of UTF-8 text, without control characters and without "
                     "marks that change the direction of text or cannot be seen");
    if (trim(job_.name) != job_.name) problem("name", "a name does not begin or end with a space");
  }

  void what_is_run() {
    if (job_.suite.empty() && job_.command.empty())
      return problem("command", "a job needs a suite or a command");
    if (!job_.suite.empty() && !job_.command.empty())
      return problem("suite", "a job has a suite or a command, not both");
    if (job_.suite.size() > kMaxSuite) problem("suite", "a suite has at most 1 MiB");
    if (!is_utf8_text(job_.suite)) problem("suite", "a suite is UTF-8 text");
    if (job_.command.size() > kMaxCommand) problem("command", "a command has at most 64 KiB");
    if (!is_utf8_text(job_.command)) problem("command", "a command is UTF-8 text");
    if (job_.suite.empty()) {
      if (trim(job_.command).empty()) problem("command", "the command is empty");
      return;
    }
    const auto not_with_suite = [&](const char* path, bool given) {
      if (given) problem(path, "a suite says that itself: it goes with a command only");
    };
    not_with_suite("launch", job_.launch != Launch::per_rank);
    not_with_suite("image", !job_.image.empty());
    not_with_suite("env", !job_.env.empty());
    not_with_suite("mounts", !job_.mounts.empty());
  }

  void image() {
    const bool plain = job_.image.size() <= kMaxImage && !job_.image.starts_with('-') &&
                       std::ranges::all_of(job_.image, [](char c) { return c > ' ' && c < 0x7F; });
    if (!plain) problem("image", "not a valid image: " + shown(job_.image));
  }

  void retries() {
    number("retries.count", job_.retries.count, 0, kMaxRetries);
    for (std::size_t i = 0; i < job_.retries.exit_codes.size() && i < 256; ++i)
      number(fmt::format("retries.exit_codes[{}]", i).c_str(), job_.retries.exit_codes[i], 1, 255);
    is_too_long("retries.exit_codes", job_.retries.exit_codes, 255);
  }

  void env() {
    if (is_too_long("env", job_.env, kMaxVariables)) return;
    for (const auto& [name, value] : job_.env) {
      const std::string path = "env." + ellipsize(printable(name), 60);
      if (!is_variable(name))
        problem(path, kVariableNames);
      else if (name == kKeepOpenVariable)
        keep_open(path, value);
      else if (is_place_variable(name))
        problem(path, "Assay sets this variable itself: it says where the process is in the job");
      if (value.size() > kMaxVariable) problem(path, "a value has at most 32 KiB");
      if (!is_utf8_text(value)) problem(path, "a value is UTF-8 text");
    }
  }

  void secrets() {
    if (is_too_long("secrets", job_.secrets, kMaxSecrets)) return;
    for (const auto& [variable, name] : job_.secrets) {
      const std::string path = "secrets." + ellipsize(printable(variable), 60);
      if (!is_variable(variable))
        problem(path, kVariableNames);
      else if (variable == kKeepOpenVariable || is_place_variable(variable))
        problem(path, "Assay sets this variable itself: it cannot hold a secret");
      else if (job_.env.contains(variable))
        problem(path, "the job sets this variable already, without the secret");
      if (!is_plain_name(name))
        problem(path, fmt::format("not a valid name of a secret: {}; expected {}", shown(name),
                                  kPlainNames));
    }
  }

  void keep_open(const std::string& path, const std::string& value) {
    const auto keep = parse_duration(value);
    if (!keep || *keep < Nanoseconds(0) || *keep > kMaxKeep)
      problem(path, "a job may be kept open for 0s to 7d");
    else if (job_.command.empty())
      problem(path, "only a command is kept open, not a suite");
  }

  /// Paths stand between colons in the suite.
  void path_in(const std::string& field, const std::string& path) {
    if (!path.starts_with('/')) return problem(field, "not an absolute path: " + shown(path));
    bool climbs = false;
    for (const std::string_view part : split(path, '/')) climbs = climbs || part == "..";
    if (climbs) problem(field, "a path without '..' is expected, not " + shown(path));
    if (path.size() > kMaxPath || !is_one_line(path) || path.find(':') != std::string::npos)
      problem(field, "not a path that can be mounted: " + shown(path));
  }

  void mounts() {
    if (is_too_long("mounts", job_.mounts, kMaxMounts)) return;
    if (!job_.mounts.empty() && job_.image.empty() && job_.suite.empty())
      problem("mounts", "mounts need a container: name its image");
    std::set<std::string> targets;
    for (std::size_t i = 0; i < job_.mounts.size(); ++i) {
      const std::string path = fmt::format("mounts[{}]", i);
      path_in(path + ".source", job_.mounts[i].source);
      path_in(path + ".target", job_.mounts[i].target);
      if (job_.mounts[i].target.find_first_not_of('/') == std::string::npos)
        problem(path + ".target", "the container's whole file system cannot be replaced");
      if (!targets.insert(job_.mounts[i].target).second)
        problem(path + ".target", "two mounts have the target " + shown(job_.mounts[i].target));
    }
  }

  void endpoints() {
    if (is_too_long("endpoints", job_.endpoints, kMaxEndpoints)) return;
    std::set<std::string> names;
    std::set<int> ports;
    for (std::size_t i = 0; i < job_.endpoints.size(); ++i) {
      const Endpoint& endpoint = job_.endpoints[i];
      const std::string path = fmt::format("endpoints[{}]", i);
      std::string name(to_text(endpoint.kind));
      if (endpoint.kind == EndpointKind::port) {
        if (!endpoint.port || *endpoint.port < 1 || *endpoint.port > 65535)
          problem(path + ".port", "expected a port from 1 to 65535");
        else if (!ports.insert(*endpoint.port).second)
          problem(path + ".port", fmt::format("two endpoints have port {}", *endpoint.port));
        name = endpoint.name;
        word(path + ".name", name);
      } else if (endpoint.port || !endpoint.name.empty()) {
        problem(path, "only an endpoint of kind 'port' has a name and a port");
      }
      if (!names.insert(name).second) problem(path, "two endpoints are called " + shown(name));
    }
  }

  void after() {
    if (is_too_long("after", job_.after, kMaxAfter)) return;
    std::set<JobId> seen;
    for (std::size_t i = 0; i < job_.after.size(); ++i) {
      const std::string path = fmt::format("after[{}]", i);
      if (job_.after[i] < 1)
        problem(path, fmt::format("not the number of a job: {}", job_.after[i]));
      else if (!seen.insert(job_.after[i]).second)
        problem(path, fmt::format("job {} is named twice", job_.after[i]));
    }
  }

  const Submission& job_;
  std::vector<Problem> problems_;
};

}  // namespace

std::vector<Problem> problems_of(const Submission& submission) {
  return SubmissionCheck(submission).run();
}

}  // namespace assay::jobs
