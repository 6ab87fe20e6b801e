#include "commands/platform/submission_options.h"

#include <algorithm>

#include <fmt/format.h>

#include "catalog/catalog.h"
#include "client/job_forms.h"
#include "commands/base/paths.h"
#include "core/error.h"
#include "core/job_variables.h"
#include "core/parse_number.h"
#include "core/pattern.h"
#include "core/text.h"
#include "plan/suite.h"

namespace assay::commands {

namespace {

Error wrong_option(const char* option, const std::string& given, const char* expected) {
  return {ErrorKind::usage, fmt::format("not valid: '{}'", printable(given)), option,
          fmt::format("expected {}", expected)};
}

Json env_of(const std::vector<std::string>& words) {
  Json env = Json::object();
  for (const std::string& word : words) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos || equals == 0) throw wrong_option("--env", word, "NAME=VALUE");
    env[word.substr(0, equals)] = word.substr(equals + 1);
  }
  return env;
}

// NAME, or NAME=VARIABLE.
Json secrets_of(const std::vector<std::string>& words) {
  Json secrets = Json::object();
  for (const std::string& word : words) {
    const std::size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    const std::string variable = equals == std::string::npos ? name : word.substr(equals + 1);
    if (name.empty() || variable.empty())
      throw wrong_option("--secret", word, "NAME or NAME=VARIABLE");
    if (secrets.contains(variable))
      throw Error(ErrorKind::usage,
                  fmt::format("two secrets for the variable '{}'", printable(variable)),
                  "--secret");
    secrets[variable] = name;
  }
  return secrets;
}

Json mounts_of(const std::vector<std::string>& words) {
  Json mounts = Json::array();
  for (const std::string& word : words) {
    const std::vector<std::string_view> parts = split(word, ':');
    const bool has_mode = parts.size() == 3 && (parts[2] == "ro" || parts[2] == "rw");
    if (parts.size() != 2 && !has_mode)
      throw wrong_option("--mount", word, "/source:/target or /source:/target:ro");
    mounts.push_back({{"source", std::string(parts[0])},
                      {"target", std::string(parts[1])},
                      {"read_only", has_mode && parts[2] == "ro"}});
  }
  return mounts;
}

Json endpoints_of(const std::vector<std::string>& words) {
  Json endpoints = Json::array();
  for (const std::string& word : words) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos) {
      const auto kind = parse_enum<jobs::EndpointKind>(word);
      if (!kind || *kind == jobs::EndpointKind::port)
        throw wrong_option("--endpoint", word, "ssh, jupyter, tensorboard, vscode or NAME=PORT");
      endpoints.push_back({{"kind", word}});
      continue;
    }
    const auto port = parse_number<int>(std::string_view(word).substr(equals + 1));
    if (!port) throw wrong_option("--endpoint", word, "NAME=PORT, such as ui=8080");
    endpoints.push_back({{"kind", "port"}, {"name", word.substr(0, equals)}, {"port", *port}});
  }
  return endpoints;
}

// "/opt/bin/python3 train.py --lr 1" → "train.py": the first word that names the program.
std::string name_of_command(const std::string& command) {
  std::string name = "job";
  const std::string line = command.substr(0, command.find('\n'));
  for (const std::string_view word : split(line, ' ')) {
    if (word.empty() || word.find('=') != std::string_view::npos || word.front() == '-') continue;
    name = word.substr(word.rfind('/') + 1);
    if (!name.starts_with("python") && name != "bash" && name != "sh" && name != "torchrun") break;
  }
  std::erase_if(name, [](char c) {
    return c <= ' ' || c > '~' ||
           std::string_view("'\"`$;|&<>(){}[]*?\\").find(c) != std::string_view::npos;
  });
  return name.empty() ? "job" : name.substr(0, jobs::kMaxJobName);
}

/// A suite's description of itself; empty if it cannot be read, which the server will explain.
struct SuiteSays {
  std::string name;
  int nodes = 1;
  int procs = 1;
};
std::optional<SuiteSays> look_into(const std::string& text, const std::string& file) {
  try {
    const plan::Suite suite = plan::parse_suite(text, file);
    SuiteSays says{suite.name, 1, 1};
    for (const plan::SuiteCase& one : suite.cases) {
      says.nodes = std::max(says.nodes, one.nodes);
      says.procs = std::max(says.procs, one.procs);
    }
    return says;
  } catch (const Error&) {
    return std::nullopt;
  }
}

// The server read the suite under another name: the place in it is the same.
std::string at_place(const std::string& message, const std::string& file) {
  static const Pattern place(R"(^\S*:([0-9]+:[0-9]+: ))");
  if (const auto found = place.search(message))
    return fmt::format("{}:{}{}", file, *found->at(1), message.substr(found->at(0)->size()));
  return {};
}

}  // namespace

void add_submission_options(CLI::App& command, SubmissionOptions& options) {
  command.add_option("suite", options.suite, "A suite: a file, or the name of one of Assay's")
      ->type_name("SUITE");
  command.add_option("--command", options.command, "Instead of a suite: shell text that is run")
      ->type_name("TEXT");
  command.add_option("--name", options.name, "How lists call the job");
  command.add_option("--launch", options.launch,
                     "Who starts the command: per-rank (default), per-node or head");
  command.add_option("--nodes", options.nodes, "Nodes");
  command.add_option("--procs", options.procs, "Processes on each node");
  command.add_option("--devices", options.devices, "Devices on each node; default: one a process");
  command.add_option("--device-type", options.device_type, "Such as H200; default: any");
  command.add_flag("--whole-nodes", options.whole_nodes, "Nobody else on its nodes");
  command.add_option("--image", options.image, "Image of the container that it runs in");
  command.add_option("--queue", options.queue, "The queue; default: default")->type_name("QUEUE");
  command.add_option("--priority", options.priority, "0 to 1000; default: 100");
  command.add_flag("--preemptible", options.preemptible, "More important jobs may take its place");
  command.add_option("--time", options.time, "That it may run, such as 2h");
  command.add_option("--keep", options.keep,
                     "How long a command that ends with 'sleep infinity' stays open, such as 30m");
  command.add_option("--retries", options.retries, "How often it is tried again when it fails");
  command.add_option("--env", options.env, "A variable for its processes; may be repeated")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false);
  command
      .add_option("--secret", options.secrets,
                  "A secret of 'assay secret', as the variable of its name or another; may be "
                  "repeated")
      ->type_name("NAME[=VARIABLE]")
      ->allow_extra_args(false);
  command.add_option("--mount", options.mounts, "A folder in the container; may be repeated")
      ->type_name("/FROM:/TO[:ro]")
      ->allow_extra_args(false);
  command
      .add_option("--endpoint", options.endpoints,
                  "ssh, jupyter, tensorboard, vscode or a port of its own; may be repeated")
      ->type_name("KIND|NAME=PORT")
      ->allow_extra_args(false);
  command.add_option("--after", options.after, "Only when this job has finished; may be repeated")
      ->type_name("JOB")
      ->delimiter(',')
      ->allow_extra_args(false);
  command.add_option("--array", options.array, "One job for each number, so many at a time")
      ->type_name("0-9%4");
}

WrittenSubmission write_submission(const SubmissionOptions& options, Json base) {
  if (!options.suite.empty() && options.command)
    throw Error(ErrorKind::usage, "give a suite or --command, not both");
  if (options.command && trim(*options.command).empty())
    throw Error(ErrorKind::usage, "the command is empty", "--command");
  WrittenSubmission written{std::move(base), {}};
  Json& json = written.json;
  const auto set = [&](const char* key, const auto& value) {
    if (value) json[key] = *value;
  };
  if (options.command) json.erase("suite");
  set("command", options.command);
  set("name", options.name);
  std::optional<SuiteSays> suite;
  if (!options.suite.empty()) {
    json.erase("command");
    written.suite_file = find_suite(options.suite, catalog::find_conf_dirs()).string();
    const std::string text = read_given_file(written.suite_file);
    json["suite"] = text;
    suite = look_into(text, written.suite_file);
    if (!json.contains("name"))
      json["name"] = suite && !suite->name.empty()
                         ? suite->name
                         : std::filesystem::path(written.suite_file).stem().string();
  } else if (!json.contains("command") && !json.contains("suite")) {
    throw Error(ErrorKind::usage, "nothing to run", {}, "give a suite, or --command 'TEXT'");
  }
  if (!json.contains("name") && json.contains("command") && json["command"].is_string())
    json["name"] = name_of_command(json["command"].get<std::string>());
  if (suite && suite->nodes > 1 && !json.contains("nodes")) json["nodes"] = suite->nodes;
  if (suite && suite->procs > 1 && !json.contains("procs")) json["procs"] = suite->procs;
  set("launch", options.launch);
  set("nodes", options.nodes);
  set("procs", options.procs);
  set("devices", options.devices);
  set("device_type", options.device_type);
  if (options.whole_nodes) json["whole_nodes"] = true;
  set("image", options.image);
  set("queue", options.queue);
  set("priority", options.priority);
  if (options.preemptible) json["preemptible"] = true;
  set("time", options.time);
  if (options.retries) json["retries"] = Json{{"count", *options.retries}};
  if (!options.env.empty()) json["env"].update(env_of(options.env));
  if (!options.secrets.empty()) json["secrets"].update(secrets_of(options.secrets));
  if (options.keep) json["env"][std::string(kKeepOpenVariable)] = *options.keep;
  if (!options.mounts.empty()) json["mounts"] = mounts_of(options.mounts);
  if (!options.endpoints.empty()) json["endpoints"] = endpoints_of(options.endpoints);
  if (!options.after.empty()) json["after"] = options.after;
  set("array", options.array);
  return written;
}

Error submission_error(const std::vector<jobs::Problem>& problems, const std::string& suite_file) {
  std::string text = "the job cannot be submitted";
  for (const jobs::Problem& problem : problems) {
    std::string line;
    if (problem.path.starts_with("suite") && !suite_file.empty()) {
      line = at_place(problem.message, suite_file);
      if (line.empty()) line = suite_file + ": " + problem.message;
    } else {
      const std::string option = client::option_of(problem.path);
      line = (problem.path.empty() ? "" : option + ": ") + problem.message;
      // Says which one of several.
      if (problem.path.find_first_of(".[") != std::string::npos && option != client::kKeepOption)
        line += " (" + problem.path + ")";
    }
    text += "\n  " + printable(line);
  }
  return {ErrorKind::config, text};
}

}  // namespace assay::commands
