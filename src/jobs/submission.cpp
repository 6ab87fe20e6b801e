#include "jobs/submission.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/job_variables.h"
#include "core/literal_text.h"
#include "core/text.h"
#include "core/units.h"

namespace assay::jobs {

namespace {

/// The names of a struct's fields.
struct FieldNames {
  std::vector<std::string>& out;
  template <class T>
  void operator()(const char* key, T&) const {
    out.emplace_back(key);
  }
  template <class T>
  void optional(const char* key, T&) const {
    out.emplace_back(key);
  }
};

class SubmissionReader {
 public:
  ReadSubmission read(const Json& json) {
    if (!json.is_object()) {
      problem("", "expected an object");
      return std::move(out_);
    }
    unknown_fields<Submission>(json, "");
    if (const auto retries = json.find("retries"); retries != json.end() && retries->is_object())
      unknown_fields<RetryPolicy>(*retries, "retries.");
    items<Mount>(json, "mounts");
    items<Endpoint>(json, "endpoints");
    if (!out_.problems.empty()) return std::move(out_);
    try {
      out_.submission = fields_from_json<Submission>(json, "");
      out_.problems = problems_of(out_.submission);
    } catch (const Error& error) {
      problem(path_of(error.where()), error.message());
    }
    return std::move(out_);
  }

 private:
  void problem(std::string path, std::string message) {
    out_.problems.push_back({std::move(path), std::move(message)});
  }

  /// json_fields says ": retries: count".
  static std::string path_of(std::string_view where) {
    std::string out;
    while (!where.empty()) {
      const auto colon = where.find(": ");
      const std::string_view part = where.substr(0, colon);
      if (!part.empty()) out.append(out.empty() ? "" : ".").append(part);
      where = colon == std::string_view::npos ? "" : where.substr(colon + 2);
    }
    return printable(out);
  }

  template <class T>
  void unknown_fields(const Json& json, const std::string& prefix) {
    static const std::vector<std::string> kKnown = [] {
      std::vector<std::string> names;
      T value{};
      T::fields(value, FieldNames{names});
      return names;
    }();
    for (const auto& [key, value] : json.items())
      if (std::ranges::find(kKnown, key) == kKnown.end())
        problem(prefix + ellipsize(printable(key), kMaxJobName),
                "there is no such field" + did_you_mean(key, kKnown));
  }

  /// Each of a list by itself, so that the path has its number.
  template <class T>
  void items(const Json& json, const char* key) {
    const auto list = json.find(key);
    if (list == json.end() || !list->is_array()) return;
    for (std::size_t i = 0; i < list->size(); ++i) {
      const std::string path = fmt::format("{}[{}]", key, i);
      const Json& item = (*list)[i];
      if (item.is_object()) unknown_fields<T>(item, path + ".");
      try {
        (void)fields_from_json<T>(item, path);
      } catch (const Error& error) {
        problem(path_of(error.where()), error.message());
      }
    }
  }

  ReadSubmission out_;
};

/// A scalar that YAML reads as exactly this text: a JSON string is one.
std::string quoted(const std::string& text) {
  return dump_line(Json(text));
}

/// A label without anything that a name of a model may not have.
std::string label_of(std::string_view name) {
  std::string out;
  for (const char c : name) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '_' || c == '.' || c == '-';
    out += plain ? c : '-';
  }
  return out;
}

}  // namespace

Json to_json(const WrittenDuration& duration) {
  return duration_text(duration.value);
}

void decode_json(const Json& json, WrittenDuration& to, const std::string& where) {
  std::optional<Nanoseconds> value;
  if (json.is_string())
    value = parse_duration(json.get_ref<const std::string&>());
  else if (json.is_number())
    value = parse_duration(json.dump());
  if (!value)
    throw Error(ErrorKind::config, "expected a duration of 1s to 365d, such as 2h", where);
  to.value = *value;
}

ReadSubmission read_submission(const Json& json) {
  return SubmissionReader().read(json);
}

int devices_per_node(const Submission& submission) noexcept {
  return submission.devices.value_or(submission.procs);
}

std::string suite_text(const Submission& submission) {
  if (!submission.suite.empty()) return submission.suite;
  std::string out = "name: " + quoted(submission.name) + "\n";
  if (!submission.image.empty()) {
    out += "container:\n  image: " + quoted(submission.image) + "\n";
    if (!submission.mounts.empty()) out += "  mounts:\n";
    for (const Mount& mount : submission.mounts)
      out += "    - " + quoted(mount.source + ":" + mount.target + (mount.read_only ? ":ro" : "")) +
             "\n";
  }
  out += "cases:\n  - name: main\n    model: " + quoted(label_of(submission.name)) +
         fmt::format("\n    nodes: {}\n    procs: {}\n", submission.nodes, submission.procs) +
         "    launch: " + std::string(to_text(submission.launch)) +
         "\n    rendezvous: [torchrun, mpi, dlws]\n    shell: true\n    command: " +
         quoted(without_placeholders(submission.command)) + "\n";
  // A command that only sleeps on has ended: whoever wants to stay says for how long.
  std::map<std::string, std::string> env = submission.env;
  env.try_emplace(std::string(kKeepOpenVariable), "0s");
  out += "    env:\n";
  for (const auto& [name, value] : env)
    out += "      " + quoted(name) + ": " + quoted(without_placeholders(value)) + "\n";
  // A job may be silent for as long as it wants: whether its devices work is watched.
  out += "    limits: {stall: off, grace: 60s";
  if (submission.time) out += ", time: " + duration_text(submission.time->value);
  return out + "}\n";
}

}  // namespace assay::jobs
