#include "commands/help/candidates.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <stop_token>
#include <thread>

#include "catalog/catalog.h"
#include "catalog/metrics.h"
#include "commands/base/paths.h"
#include "commands/base/terminal.h"
#include "commands/help/completion.h"
#include "commands/help/help_topics.h"
#include "commands/platform/platform_client.h"
#include "core/error.h"
#include "core/rank_log_name.h"
#include "core/run_layout.h"
#include "core/text.h"
#include "explain/explain.h"
#include "history/run_labels.h"
#include "lang/language.h"
#include "plan/suite.h"

namespace assay::commands {

namespace {

namespace fs = std::filesystem;

// A shell is waiting, so answers that take a server more than a second are left out.
client::Client quick_client(const std::stop_token& stop) {
  return make_client({}, stop);
}

std::vector<Candidate> from_server(const std::string& kind) {
  std::vector<Candidate> out;
  std::stop_source late;
  const std::jthread clock([&](const std::stop_token& done) {
    for (int i = 0; i < 20 && !done.stop_requested(); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    late.request_stop();
  });
  const client::Client client = quick_client(late.get_token());
  if (kind == "JOB") {
    for (const client::JobRow& row : client.list({.limit = 100}).value.jobs)
      out.push_back({std::to_string(row.id), row.state.text + " " + row.name});
  } else if (kind == "NODE") {
    for (const jobs::NodeAnswer& node : client.nodes().value.nodes)
      out.push_back({node.name, node.device_type});
  } else {
    for (const client::QueueRow& queue : client.queues().value) out.push_back({queue.name, ""});
  }
  return out;
}

std::vector<Candidate> runs_here() {
  std::vector<Candidate> out;
  std::error_code ec;
  for (auto it = fs::directory_iterator("results", ec); !ec && it != fs::directory_iterator();
       it.increment(ec))
    if (it->is_directory(ec) && !it->path().filename().string().starts_with('.'))
      out.push_back({it->path().string(), ""});
  return out;
}

std::vector<fs::path> folders_in(const fs::path& folder) {
  std::vector<fs::path> out;
  std::error_code ec;
  for (auto it = fs::directory_iterator(folder, ec); !ec && it != fs::directory_iterator();
       it.increment(ec))
    if (it->is_directory(ec)) out.push_back(it->path());
  return out;
}

// The folders CASE/round1 of a run.
std::vector<fs::path> first_rounds(const fs::path& run) {
  std::vector<fs::path> out;
  std::error_code ec;
  for (const fs::path& one : folders_in(run))
    if (fs::is_directory(one / "round1", ec)) out.push_back(one / "round1");
  return out;
}

// The run named on the command line, else the latest.
fs::path run_of(const std::vector<std::string>& words) {
  std::error_code ec;
  for (std::size_t i = 0; i + 1 < words.size(); ++i)
    if (fs::is_regular_file(fs::path(words[i]) / layout::kPlan, ec)) return words[i];
  return "results/latest";
}

std::vector<Candidate> cases_of_run(const std::vector<std::string>& words) {
  std::vector<Candidate> out;
  for (const fs::path& round : first_rounds(run_of(words)))
    out.push_back({round.parent_path().filename(), ""});
  return out;
}

// Named like the folders and files of its first rounds: HOST_noderank0/rank3.out.log.
std::vector<Candidate> ranks_of_run(const std::vector<std::string>& words) {
  std::vector<Candidate> out;
  for (const fs::path& round : first_rounds(run_of(words)))
    for (const fs::path& node : folders_in(round)) {
      std::error_code ec;
      for (auto it = fs::directory_iterator(node, ec); !ec && it != fs::directory_iterator();
           it.increment(ec))
        if (const std::string name = it->path().filename(); layout::is_rank_log_name(name))
          out.push_back({name.substr(4, name.find('.') - 4), ""});
    }
  return out;
}

std::vector<Candidate> hosts_of_runs() {
  std::vector<Candidate> out;
  for (const fs::path& run : folders_in("results"))
    for (const fs::path& round : first_rounds(run))
      for (const fs::path& node : folders_in(round)) {
        const std::string name = node.filename().string();
        if (const std::size_t end = name.rfind("_noderank"); end != std::string::npos)
          out.push_back({name.substr(0, end), ""});
      }
  return out;
}

std::vector<Candidate> tags_of_runs() {
  std::vector<Candidate> out;
  for (const fs::path& run : folders_in("results")) try {
      for (const std::string& tag : history::read_labels(run).tags) out.push_back({tag, ""});
    } catch (const Error&) {
      // Returns the tags of the others.
    }
  return out;
}

// The keys for --set: a suite's, below "telemetry." and the like where needed, and those of a case
// alone, which apply to every case.
std::vector<Candidate> settings() {
  std::vector<Candidate> out;
  const auto& places = plan::suite_keys();
  const auto add = [&](const std::string& place, const std::string& prefix) {
    for (const std::string& key : places.at(place))
      if (!places.contains(prefix + key) && key != "cases") out.push_back({prefix + key + "=", ""});
  };
  add("", "");
  add("case", "");
  for (const char* place : {"cluster", "cluster.ssh", "cluster.slurm", "telemetry", "limits"})
    add(place, std::string(place) + ".");
  return out;
}

// The cases of the suite named on the command line, if any.
std::vector<Candidate> cases_of_suite(const std::vector<std::string>& words) {
  std::vector<Candidate> out;
  const catalog::ConfDirs dirs = catalog::find_conf_dirs();
  for (const std::string& word : words) {
    const bool may_be = word.ends_with(".yaml") || word.ends_with(".yml") ||
                        std::ranges::count(suite_names(dirs), word) > 0;
    std::error_code ec;
    if (!may_be) continue;
    const fs::path file = find_suite(word, dirs);
    if (!fs::is_regular_file(file, ec)) continue;
    for (const plan::SuiteCase& one : plan::load_suite(file).cases) out.push_back({one.name, ""});
  }
  return out;
}

std::vector<Candidate> topics_to_explain() {
  std::vector<Candidate> out;
  const auto rules = catalog::load_catalog(catalog::find_conf_dirs()).rules;
  for (const explain::Topic& topic : explain::topics(rules))
    out.push_back({topic.name, lang::tr(topic.kind)});
  return out;
}

std::vector<Candidate> topics_of_help(const CLI::App& app) {
  std::vector<Candidate> out;
  for (const HelpTopic& topic : help_topics()) out.push_back({topic.name, lang::tr(topic.title)});
  for (const CLI::App* command : app.get_subcommands({}))
    if (!command->get_group().empty())
      out.push_back({command->get_name(), command->get_description()});
  return out;
}

std::vector<Candidate> values_of(const CLI::App& app, const std::vector<std::string>& words,
                                 const std::string& kind) {
  std::vector<Candidate> out;
  try {
    if (kind == "SUITE")
      for (const std::string& name : suite_names(catalog::find_conf_dirs()))
        out.push_back({name, lang::tr("a suite of Assay's")});
    if (kind == "METRIC")
      for (const catalog::KnownMetric& known : catalog::known_metrics())
        out.push_back({std::string(known.name), lang::tr(known.title)});
    if (kind == "RUN" || kind == "BASE" || kind == "NEW") return runs_here();
    if (kind == "CASE") {
      std::vector<Candidate> cases = cases_of_suite(words);
      return cases.empty() ? cases_of_run(words) : cases;
    }
    if (kind == "HOST") return hosts_of_runs();
    if (kind == "TAG") return tags_of_runs();
    if (kind == "RANK") return ranks_of_run(words);
    if (kind == "KEY") return settings();
    if (kind == "TOPIC") return topics_to_explain();
    if (kind == "HELP-TOPIC") return topics_of_help(app);
    if (kind == "JOB" || kind == "NODE" || kind == "QUEUE") return from_server(kind);
  } catch (const Error&) {
    // There is then nothing to offer.
  }
  return out;
}

}  // namespace

int print_candidates(const CLI::App& app, const std::vector<std::string>& words) {
  const Completion found =
      complete(app, words, [&](const std::string& kind) { return values_of(app, words, kind); });
  for (const Candidate& one : found.candidates)
    say(printable(one.word) + "\t" + ellipsize(printable(one.what), 100) + "\n");
  if (found.files) say(":files\n");
  if (found.folders) say(":folders\n");
  return 0;
}

}  // namespace assay::commands
