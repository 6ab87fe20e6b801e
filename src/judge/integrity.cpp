#include "judge/integrity.h"

#include <algorithm>
#include <map>
#include <mutex>

#include <fmt/format.h>

#include "core/error.h"
#include "core/node_part.h"
#include "core/parallel.h"
#include "core/regular_file.h"
#include "core/run_layout.h"
#include "core/text.h"
#include "evidence/chain.h"
#include "judge/round_context.h"

namespace assay::judge {

namespace fs = std::filesystem;

namespace {

using evidence::FileMatch;
using evidence::FileRecord;

constexpr const char* kIrregular = "is not a regular file, as the one that was recorded";
constexpr int kMaxDepth = 4;  // for a round's folders; a job's results may have three

// Whether the judge reads the file with that path below the run directory.
bool is_read(const std::string& path) {
  const layout::RunFile* known = layout::find_run_file(path);
  return known != nullptr && known->judged &&
         (known->name != layout::kJobResults || path.ends_with(".json"));
}

std::string amount(std::uint64_t bytes, std::uint64_t lines) {
  return fmt::format("{} byte{} in {} line{}", bytes, bytes == 1 ? "" : "s", lines,
                     lines == 1 ? "" : "s");
}

// Describes what is there instead of the listed file, and where it begins to differ.
std::string difference(const FileRecord& listed, const FileRecord& found,
                       const std::vector<FileRecord>& grown, std::optional<std::size_t> misfit) {
  if (found.bytes != listed.bytes)
    return fmt::format("{} {} there, {} {} recorded", amount(found.bytes, found.lines),
                       found.bytes == 1 ? "is" : "are", amount(listed.bytes, listed.lines),
                       listed.bytes == 1 ? "was" : "were");
  const std::uint64_t from = misfit && *misfit > 0 ? grown[*misfit - 1].bytes : 0;
  const std::uint64_t to = misfit && *misfit < grown.size() ? grown[*misfit].bytes : listed.bytes;
  return from == 0 && to == listed.bytes
             ? fmt::format("other content than was recorded, in as many bytes ({})", listed.bytes)
             : fmt::format("other content than was recorded between byte {} and byte {} of {}",
                           from, to, listed.bytes);
}

// Collects problems in the order of their places, independent of threads.
class Problems {
 public:
  void add(std::vector<std::string> RoundIntegrity::*kind, const std::string& place,
           const std::string& what) {
    const std::scoped_lock lock(lock_);
    found_.emplace(place, std::pair(kind, what));
  }
  void take_into(RoundIntegrity& integrity) {
    for (auto& [place, problem] : found_)
      (integrity.*problem.first).push_back(place + ": " + problem.second);
  }

 private:
  std::mutex lock_;
  std::multimap<std::string, std::pair<std::vector<std::string> RoundIntegrity::*, std::string>>
      found_;
};

// Whether the file only grows during the round; other files match their last record.
bool only_grows(const std::string& name) {
  return name == layout::kTelemetry || name.ends_with(".out.log");
}

// The chain's statements about each file's current content. A log that reached its limit was
// renamed and begun again: earlier statements refer to the renamed one.
std::map<std::string, std::vector<FileRecord>> grown_files(const evidence::ChainCheck& chain) {
  std::map<std::string, std::vector<FileRecord>> grown;
  for (const evidence::Link& link : chain.links) {
    for (const FileRecord& file : link.files)
      for (const std::string_view rotated : {".head", ".1"})
        if (file.name.ends_with(rotated))
          grown[file.name.substr(0, file.name.size() - rotated.size())].clear();
    for (const FileRecord& file : link.files) {
      std::vector<FileRecord>& records = grown[file.name];
      if (!only_grows(file.name) || (!records.empty() && file.bytes < records.back().bytes))
        records.clear();
      records.push_back(file);
    }
  }
  return grown;
}

// The heads that the controller saw must be on the chain, in order, and its last must be the
// chain's last.
std::string heads_problem(const RecordedChain& recorded, const evidence::ChainCheck& chain,
                          const std::string& first_head) {
  auto link = chain.links.begin();
  for (const std::string& head : recorded.seen) {
    if (head == first_head) continue;  // nothing had been written
    link = std::ranges::find(link, chain.links.end(), head, &evidence::Link::head);
    if (link == chain.links.end())
      return "a head that came while the round ran is not on the chain: the chain was rewritten";
  }
  if (!recorded.last.empty() && recorded.last != chain.head)
    return fmt::format(
        "the chain ends after {} link{} at another head than the one recorded: it "
        "was cut off or rewritten",
        chain.links.size(), chain.links.size() == 1 ? "" : "s");
  return {};
}

// Whether the file is a beginning whose rest is missing, as far as the records made while it grew
// can tell: `misfit` is the first of these that does not fit.
bool is_beginning(const FileRecord& found, const FileRecord& listed,
                  const std::vector<FileRecord>& grown, std::optional<std::size_t> misfit) {
  return found.bytes < listed.bytes && misfit && grown[*misfit].bytes > found.bytes;
}

class RoundCheck {
 public:
  RoundCheck(const store::RunDir& run, const plan::CasePlan& plan, RoundEvidence& evidence)
      : run_(run),
        folder_(run.round_dir(plan.name, evidence.round)),
        evidence_(evidence),
        // An experiment continues without a lost node; in a cloud there are no agents.
        needs_chains_(!plan.automl && evidence.status == RoundStatus::completed &&
                      !evidence.integrity.recorded.id.empty()),
        may_be_cut_(!is_result(evidence.status) || evidence.status == RoundStatus::unrecorded) {}

  void check(unsigned threads) {
    RoundIntegrity& integrity = evidence_.integrity;
    std::map<std::string, std::vector<FileRecord>> grown;  // by path relative to the round's folder
    for (const RecordedChain& chain : integrity.recorded.chains)
      if (!chain.last.empty()) check_chain(chain, grown);  // else the node was lost
    if (needs_chains_) require_chains();
    for (const FileRecord& file : integrity.recorded.files) {
      if (!evidence::is_sound(file)) {
        problems_.add(&RoundIntegrity::changed, std::string(layout::kJournal),
                      "lists a file with a name or hash that cannot be: '" +
                          ellipsize(printable(file.name), 80) + "'");
        continue;
      }
      if (!is_read(place(file.name))) continue;
      const auto [known, is_new] = listed_.emplace(file.name, &file);
      if (!is_new && !(*known->second == file))
        problems_.add(&RoundIntegrity::changed, place(file.name), "is listed twice, differently");
    }
    integrity.files = listed_.size();
    std::vector<const FileRecord*> files;
    for (const auto& [name, file] : listed_) files.push_back(file);
    run_parallel(files.size(), static_cast<int>(threads), {},
                 [&](std::size_t i, const std::stop_token& /*stop*/) {
                   const auto records = grown.find(files[i]->name);
                   check_file(*files[i],
                              records == grown.end() ? std::vector<FileRecord>() : records->second);
                 });
    // Where nothing could be started, nothing was measured either: an agent that fails may not have
    // been able to list what it was given.
    if (evidence_.status != RoundStatus::launch_failed) find_unlisted(folder_, kMaxDepth);
    problems_.take_into(integrity);
  }

 private:
  // The path below the run directory, as people and layout::find_run_file use it.
  [[nodiscard]] std::string place(const std::string& name) const {
    return (folder_.lexically_relative(run_.path()) / name).generic_string();
  }

  // Whether a folder on the path is a link: a link would lead to something that nobody recorded.
  [[nodiscard]] bool lies_behind_link(const fs::path& path) const {
    for (fs::path folder = path.parent_path(); folder.native().size() > run_.path().native().size();
         folder = folder.parent_path())
      if (is_irregular(folder)) return true;
    return false;
  }

  void require_chains() {
    for (const NodeEvidence& node : evidence_.nodes) {
      const auto& chains = evidence_.integrity.recorded.chains;
      const auto chain = std::ranges::find(chains, node.node, &RecordedChain::node);
      if (chain == chains.end() || chain->last.empty())
        problems_.add(&RoundIntegrity::missing, place(layout::node_folder(node.host, node.node)),
                      "its agent has listed nothing");
    }
  }

  void check_chain(const RecordedChain& recorded,
                   std::map<std::string, std::vector<FileRecord>>& grown) {
    const std::string folder =
        layout::part_folder(layout::node_folder(recorded.host, recorded.node), recorded.part);
    const std::string id = layout::part_id(evidence_.integrity.recorded.id, recorded.part);
    const std::string file = folder + "/" + std::string(layout::kEvidence);
    evidence::ChainCheck chain;
    try {
      if (is_irregular(folder_ / file)) {
        problems_.add(&RoundIntegrity::changed, place(file), kIrregular);
        return;
      }
      if (!fs::exists(folder_ / file)) {
        problems_.add(&RoundIntegrity::missing, place(file), "the chain of hashes is gone");
        return;
      }
      std::string text = read_regular_file(folder_ / file);
      if (may_be_cut_) text.resize(text.rfind('\n') + 1);
      chain = evidence::verify_chain(text, id, recorded.node);
    } catch (const std::exception&) {
      problems_.add(&RoundIntegrity::missing, place(file), "cannot be read");
      return;
    }
    if (!chain.ok())
      problems_.add(&RoundIntegrity::broken, fmt::format("{}:{}", place(file), chain.bad_line),
                    chain.problem);
    else if (const std::string problem =
                 heads_problem(recorded, chain, evidence::first_head(id, recorded.node));
             !problem.empty())
      problems_.add(may_be_cut_ ? &RoundIntegrity::missing : &RoundIntegrity::broken, place(file),
                    may_be_cut_ ? "the rest of the chain is gone" : problem);
    for (auto& [name, records] : grown_files(chain))
      grown[folder + "/" + name] = std::move(records);
  }

  // Reads the file once to check its list entry and all statements made while it grew.
  void check_file(const FileRecord& listed, std::vector<FileRecord> grown) {
    const fs::path path = folder_ / listed.name;
    if (is_irregular(path) || lies_behind_link(path)) {
      problems_.add(&RoundIntegrity::changed, place(listed.name), kIrregular);
      return;
    }
    try {
      for (FileRecord& record : grown) record.name = listed.name;
      const bool chained = !grown.empty();
      if (grown.empty() || !(grown.back() == listed)) grown.push_back(listed);
      std::error_code ec;
      const bool as_long = fs::file_size(path, ec) == listed.bytes && !ec;
      const auto misfit = evidence::first_misfit(path, grown);
      if (as_long && !misfit) return;
      const auto found = evidence::measure_file(path, listed.name);
      const FileMatch match = evidence::compare(listed, found);
      if (may_be_cut_ && found && is_beginning(*found, listed, grown, misfit))
        problems_.add(
            &RoundIntegrity::missing, place(listed.name),
            fmt::format("the rest is gone; {}", difference(listed, *found, grown, misfit)));
      else if (match == FileMatch::missing)
        problems_.add(&RoundIntegrity::missing, place(listed.name),
                      "is gone; " + amount(listed.bytes, listed.lines) + " were recorded");
      else if (match != FileMatch::same)
        problems_.add(&RoundIntegrity::changed, place(listed.name),
                      difference(listed, *found, grown, misfit));
      else if (chained && misfit)
        problems_.add(&RoundIntegrity::broken, place(listed.name),
                      fmt::format("its first {} bytes are not what was recorded while it grew",
                                  grown[*misfit].bytes));
    } catch (const std::exception&) {
      problems_.add(&RoundIntegrity::missing, place(listed.name), "cannot be read");
    }
  }

  void find_unlisted(const fs::path& folder, int depth) {
    std::error_code ec;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder, ec)) {
      const fs::file_type type = entry.symlink_status(ec).type();
      if (type == fs::file_type::directory) {
        if (depth > 0) find_unlisted(entry.path(), depth - 1);
        continue;
      }
      const std::string name = entry.path().lexically_relative(folder_).generic_string();
      if (!is_read(place(name))) continue;
      if (!listed_.contains(name))
        problems_.add(&RoundIntegrity::unlisted, place(name), "this file was not recorded");
    }
  }

  const store::RunDir& run_;
  fs::path folder_;
  RoundEvidence& evidence_;
  bool needs_chains_;
  bool may_be_cut_;  ///< the round ended before all files had arrived, and is not a result
  std::map<std::string, const FileRecord*> listed_;  // those that the judge reads, by name
  Problems problems_;
};

}  // namespace

void check_integrity(const store::RunDir& run, const plan::CasePlan& plan, RoundEvidence& evidence,
                     unsigned threads) {
  if (evidence.integrity.recorded.listed) RoundCheck(run, plan, evidence).check(threads);
}

std::vector<Finding> unasked_findings(const plan::CasePlan& plan, const RoundEvidence& evidence) {
  std::vector<Finding> findings;
  const auto look = [&](const char* fact, const std::vector<std::string>& problems,
                        Severity severity) {
    if (problems.empty() ||
        std::ranges::find(plan.rules, fact, &catalog::Rule::fact) != plan.rules.end())
      return;
    findings.push_back({"evidence-unasked",
                        severity,
                        fmt::format("no rule of the case asks for {}, which is {} ({})", fact,
                                    problems.size(), problems.front()),
                        "leave the rules about evidence on",
                        fmt::format("{}, round {}", plan.name, evidence.round),
                        {},
                        Aspect::integrity});
  };
  const RoundIntegrity& integrity = evidence.integrity;
  look("evidence_missing", integrity.missing, Severity::incomplete);
  look("evidence_changed", integrity.changed, Severity::invalid);
  look("evidence_unlisted", integrity.unlisted, Severity::invalid);
  look("evidence_chain_broken", integrity.broken, Severity::invalid);
  return findings;
}

void compute_integrity(RoundContext& round) {
  const RoundIntegrity& integrity = round.evidence.integrity;
  if (!integrity.recorded.listed) return;
  round.fact("evidence_files", static_cast<double>(integrity.files));
  const auto count = [&](const char* fact, const std::vector<std::string>& problems) {
    std::string detail = problems.empty() ? "" : problems.front();
    if (problems.size() > 1) detail += fmt::format(", and {} more", problems.size() - 1);
    round.fact(fact, static_cast<double>(problems.size()), detail);
  };
  count("evidence_missing", integrity.missing);
  count("evidence_changed", integrity.changed);
  count("evidence_unlisted", integrity.unlisted);
  count("evidence_chain_broken", integrity.broken);
}

}  // namespace assay::judge
