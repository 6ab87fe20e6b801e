// Random edits of the evidence of real runs: whatever changes a number is flagged, and nothing
// crashes. ASSAY_MUTATIONS and ASSAY_MUTATION_SEED choose how many there are and which.
#include <cstdlib>
#include <map>
#include <optional>
#include <random>
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "core/files.h"
#include "core/json_access.h"
#include "core/json_fields.h"
#include "core/run_layout.h"
#include "core/text.h"
#include "e2e/harness.h"
#include "evidence/chain.h"
#include "judge/judge.h"
#include "report/json_report.h"
#include "sealed_run.h"

namespace assay::e2e {
namespace {

using judge::RunResult;
using judge::Validity;

long number_from(const char* variable, long otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::atol(text);
}

// Every number that a reader of the result takes for measured.
void collect_numbers(const Json& value, const std::string& place,
                     std::map<std::string, double>& out) {
  if (value.is_number()) out[place] = value.get<double>();
  if (value.is_array())
    for (std::size_t i = 0; i < value.size(); ++i)
      collect_numbers(value[i], fmt::format("{}/{}", place, i), out);
  if (value.is_object())
    for (const auto& [key, member] : value.items()) collect_numbers(member, place + "/" + key, out);
}

std::map<std::string, double> numbers_of(const RunResult& result) {
  std::map<std::string, double> out;
  const Json all = report::result_to_json(result);
  for (const Json& one : all["cases"]) {
    const std::string name = text_at(one, "name");
    collect_numbers(one["summary"], name + "/summary", out);
    for (const Json& round : one["rounds"]) {
      const std::string place = fmt::format("{}/{}", name, round["round"].get<int>());
      collect_numbers(round["metrics"], place + "/metrics", out);
      collect_numbers(round["ranks"], place + "/ranks", out);
      collect_numbers(round["phases"], place + "/phases", out);
    }
  }
  return out;
}

/// Evidence of a run in memory, by path below its folder.
using Files = std::map<std::string, std::string>;

Files evidence_in(const fs::path& run) {
  Files files;
  for (const auto& entry : fs::recursive_directory_iterator(run)) {
    const std::string path = entry.path().lexically_relative(run).generic_string();
    const layout::RunFile* known = layout::find_run_file(path);
    if (entry.is_regular_file() && known != nullptr && known->judged)
      files[path] = read_file(entry.path());
  }
  return files;
}

void write_evidence(const Files& files, const fs::path& run) {
  fs::remove_all(run);
  for (const auto& [path, content] : files) {
    make_directories((run / path).parent_path());
    write_file_atomic(run / path, content, /*sync=*/false);
  }
}

class Editor {
 public:
  Editor(std::uint64_t seed, const std::vector<Files>& runs) : random_(seed), runs_(runs) {}

  /// Changes one thing, and says what.
  std::string edit(Files& files) {
    auto file = files.begin();
    std::advance(file, below(files.size()));
    switch (below(12)) {
      case 0:
        return at(
            file->first, "cut", [&](std::string& text) { text.resize(below(text.size())); },
            file->second);
      case 1:
        return lines(*file, "cut at a line's end",
                     [&](std::vector<std::string>& all) { all.resize(below(all.size())); });
      case 2:
        return lines(*file, "a line repeated", [&](std::vector<std::string>& all) {
          const std::size_t i = below(all.size());
          all.insert(all.begin() + static_cast<std::ptrdiff_t>(below(all.size())), all[i]);
        });
      case 3:
        return lines(*file, "two lines swapped", [&](std::vector<std::string>& all) {
          std::swap(all[below(all.size())], all[below(all.size())]);
        });
      case 4:
        return lines(*file, "a line taken out", [&](std::vector<std::string>& all) {
          all.erase(all.begin() + static_cast<std::ptrdiff_t>(below(all.size())));
        });
      case 5:
      case 6:
        return at(
            file->first, "a digit changed", [&](std::string& text) { change_digit(text); },
            file->second);
      case 7:
        return at(
            file->first, "a time moved", [&](std::string& text) { move_time(text); }, file->second);
      case 8: {
        const std::string name = file->first;
        files.erase(file);
        return name + ": deleted";
      }
      case 9:
        return lines(*file, "the last lines again", [&](std::vector<std::string>& all) {
          for (std::size_t n = 1 + below(5); n > 0; --n) all.push_back(all[all.size() - 1]);
        });
      case 10:
        return exchange(files, file->first);
      default:
        return at(
            file->first, "a byte changed",
            [&](std::string& text) {
              if (!text.empty()) text[below(text.size())] = static_cast<char>(below(256));
            },
            file->second);
    }
  }

  std::size_t below(std::size_t bound) {
    return bound == 0 ? 0 : static_cast<std::size_t>(random_() % bound);
  }

  void change_digit(std::string& text) {
    std::vector<std::size_t> digits;
    for (std::size_t i = 0; i < text.size(); ++i)
      if (text[i] >= '0' && text[i] <= '9') digits.push_back(i);
    if (!digits.empty()) text[digits[below(digits.size())]] = static_cast<char>('0' + below(10));
  }

 private:
  template <class Change>
  static std::string at(const std::string& name, const char* what, const Change& change,
                        std::string& text) {
    change(text);
    return name + ": " + what;
  }

  template <class Change>
  static std::string lines(std::pair<const std::string, std::string>& file, const char* what,
                           const Change& change) {
    std::vector<std::string> all;
    for (const std::string_view line : split(std::string_view(file.second), '\n'))
      all.emplace_back(line);
    if (!all.empty() && all.back().empty()) all.pop_back();
    if (all.empty()) return file.first + ": nothing";
    change(all);
    file.second.clear();
    for (const std::string& line : all) file.second += line + "\n";
    return file.first + ": " + what;
  }

  // A number of many digits is a time stamp.
  void move_time(std::string& text) {
    std::vector<std::size_t> stamps;
    for (std::size_t i = 0; i < text.size();) {
      std::size_t end = i;
      while (end < text.size() && text[end] >= '0' && text[end] <= '9') ++end;
      if (end - i >= 9) stamps.push_back(i);
      i = end + 1;
    }
    if (stamps.empty()) return;
    char& digit = text[stamps[below(stamps.size())] + 2 + below(5)];
    digit = digit == '9' ? '0' : static_cast<char>(digit + 1);
  }

  // A file of the same kind from another place: another rank, round or run.
  std::string exchange(Files& files, const std::string& path) {
    const Files& other = runs_[below(runs_.size())];
    std::vector<const Files::value_type*> candidates;
    for (const auto& file : other)
      if (fs::path(file.first).extension() == fs::path(path).extension())
        candidates.push_back(&file);
    if (candidates.empty()) return path + ": nothing";
    const auto* from = candidates[below(candidates.size())];
    files[path] = from->second;
    return path + ": replaced by " + from->first;
  }

  std::mt19937_64 random_;
  const std::vector<Files>& runs_;
};

class Mutations : public AssayTest {
 protected:
  void add_training() {
    add_run(
        "telemetry: {interval: 100ms}\n"
        "cases:\n"
        "  - case: null:native:cpu:1:3:2\n"
        "    config: {steps: 60, step_ms: 12.0}\n");
  }
  void add_others() {
    write("told.sh", std::string("u=") + ASSAY_BIN_DIR +
                         "/ais/ais_utils\n"
                         "echo 'speed 12.5 img/s'\n"
                         "$u set_result training proc_start_time '2026-11-15 10:15:00'\n"
                         "$u set_result training proc_end_time '2026-11-15 10:16:00'\n"
                         "$u set_result training throughput_ratio 12.5\n"
                         "$u set_result training accuracy 0.93\n"
                         "$u set_result training result OK\n");
    add_run(
        "telemetry: {interval: 100ms}\n"
        "cases:\n"
        "  - name: told\n"
        "    launch: head\n"
        "    command: [sh, " +
        (folder_ / "told.sh").string() +
        "]\n"
        "    env: {ASSAY_SET_RESULT: '{outdir}/set_result.jsonl'}\n"
        "    metrics: {speed: {match: 'speed ([0-9.]+)'}}\n");
    // A log that is begun again at its limit, many times between two links.
    add_run(
        "telemetry: {enabled: false}\n"
        "cases:\n"
        "  - name: much\n"
        "    command: [sh, -c, 'for i in 1 2 3; do seq 1 20000; sleep 1; done']\n"
        "    limits: {output: 64K}\n");
#ifdef ASSAY_WITH_TRAINING
    add_run(
        "telemetry: {enabled: false}\n"
        "cases:\n"
        "  - name: search\n"
        "    procs: 2\n"
        "    config: {threads: 1}\n"
        "    rules: {automl-accuracy: off}\n"
        "    automl:\n"
        "      start: resnet8\n"
        "      data: {data: glyphs, train_size: 128, eval_size: 64}\n"
        "      space: off\n"
        "      epochs: 1\n"
        "      limits: {operations: 60000000}\n"
        "      max_trials: 3\n");
#endif
  }

  void add_run(const std::string& suite) {
    const CommandResult run =
        assay({"run", write("suite.yaml", suite).string()}, std::chrono::seconds(120));
    ASSERT_TRUE(fs::exists(folder_ / "results/latest/seal.json")) << run.out << run.err;
    runs_.push_back(evidence_in(latest()));
    fs::remove(folder_ / "results/latest");
    originals_.push_back(*judged(runs_.back()));
  }

  /// Nothing: the evidence cannot be judged at all.
  [[nodiscard]] std::optional<RunResult> judged(const Files& files) const {
    write_evidence(files, work_);
    try {
      return judge::judge_run(store::RunDir::open(work_));
    } catch (const Error&) {
      return std::nullopt;
    }
  }

  const fs::path work_ = folder_ / "work";
  std::vector<Files> runs_;
  std::vector<RunResult> originals_;
};

TEST_F(Mutations, ThatChangeANumberAreFlaggedAndNoneCrashes) {
  add_training();
  add_training();
  add_others();
  ASSERT_FALSE(HasFatalFailure());
  for (const RunResult& original : originals_) {
    EXPECT_EQ(original.seal.state, judge::Soundness::ok) << original.seal.text;
    for (const judge::CaseResult& one : original.cases)
      for (const judge::RoundResult& round : one.rounds)
        EXPECT_EQ(round.evidence.integrity.state, judge::Soundness::ok)
            << one.name << ": " << round.evidence.integrity.text;
  }
  EXPECT_GT(numbers_of(originals_.front()).size(), 100U) << "there is something to compare";
  const long count = number_from("ASSAY_MUTATIONS", 250);
  Editor editor(static_cast<std::uint64_t>(number_from("ASSAY_MUTATION_SEED", 1)), runs_);
  int unchanged = 0;
  int refused = 0;
  int other_numbers = 0;
  int flagged = 0;
  for (long n = 0; n < count; ++n) {
    const std::size_t which = editor.below(runs_.size());
    const RunResult& original = originals_[which];
    Files files = runs_[which];
    const std::string what = editor.edit(files);
    if (files == runs_[which]) {
      ++unchanged;
      continue;
    }
    SCOPED_TRACE(fmt::format("edit {}: {}", n, what));
    const std::optional<RunResult> result = judged(files);
    if (!result) {
      ++refused;
      continue;
    }
    const bool same_numbers = numbers_of(*result) == numbers_of(original);
    other_numbers += same_numbers ? 0 : 1;
    // Blanks in the seal itself are not signed.
    Files others = files;
    Files before = runs_[which];
    others.erase("seal.json");
    before.erase("seal.json");
    const bool flag = result->seal.state != judge::Soundness::ok ||
                      std::ranges::any_of(result->cases, [](const judge::CaseResult& one) {
                        return std::ranges::any_of(one.rounds, [](const judge::RoundResult& round) {
                          return round.evidence.integrity.state != judge::Soundness::ok ||
                                 round.evidence.completeness.state == judge::Soundness::flawed;
                        });
                      });
    flagged += flag ? 1 : 0;
    if (!same_numbers || others != before) {
      EXPECT_TRUE(flag);
      EXPECT_NE(result->validity, Validity::valid);
    }
  }
  fmt::print(
      "{} edits: {} changed nothing, {} cannot be judged, {} give other numbers, {} flagged\n",
      count, unchanged, refused, other_numbers, flagged);
}

// Who knows the format makes list and chain fit again, but cannot sign for somebody else.
TEST_F(Mutations, ThatAreMadeToFitAgainFailAtTheSignature) {
  add_training();
  ASSERT_FALSE(HasFatalFailure());
  const RunResult& original = originals_.front();
  Editor editor(7, runs_);
  for (int n = 0; n < 8; ++n) {
    Files files = runs_.front();
    const auto log = std::ranges::find_if(
        files, [](const auto& file) { return file.first.ends_with("rank1.out.log"); });
    ASSERT_NE(log, files.end());
    editor.change_digit(log->second);
    write_evidence(files, work_);
    const fs::path node = (work_ / log->first).parent_path();

    std::string journal;
    for (Json event : store::Journal::read(work_ / "journal.jsonl")) {
      const std::string kind = text_at(event, "event");
      if (kind == "chain") continue;
      const std::string place = fmt::format("{}/round{}/", text_at(event, "case"),
                                            integer_at(event, "round").value_or(0));
      static std::string id;
      if (kind == "round_start") id = text_at(event, "id");
      if (kind == "node_end" && log->first.starts_with(place)) {
        std::vector<evidence::FileRecord> files_now;
        for (const Json& file : list_at(event, "files"))
          if (text_at(file, "name") != layout::kEvidence)
            files_now.push_back(
                *evidence::measure_file(node / text_at(file, "name"), text_at(file, "name")));
        evidence::Chain chain(id, 0);
        write_file_atomic(node / layout::kEvidence,
                          chain.append({integer_at(event, "mono_ns").value_or(0),
                                        integer_at(event, "wall_ns").value_or(0)},
                                       files_now));
        files_now.push_back(
            *evidence::measure_file(node / layout::kEvidence, std::string(layout::kEvidence)));
        event["head"] = chain.head();
        event["files"] = Json::array();
        for (const auto& file : files_now) event["files"].push_back(fields_to_json(file));
      }
      journal += dump_line(event) + "\n";
    }
    write_file_atomic(work_ / "journal.jsonl", journal);
    const auto verdict = [&] { return judge::judge_run(store::RunDir::open(work_)); };
    EXPECT_EQ(verdict().validity, Validity::invalid) << "the seal has the hash of the journal";

    const Json signed_seal = parse_json(files.at("seal.json"), "seal.json");
    testing::write_seal(work_, nullptr);
    EXPECT_NE(verdict().validity, Validity::valid) << "nobody signed";
    Json forged = parse_json(read_file(work_ / "seal.json"), "seal.json");
    for (const char* key : {"public_key", "signature", "signed_at"}) forged[key] = signed_seal[key];
    write_file_atomic(work_ / "seal.json", dump_pretty(forged));
    EXPECT_EQ(verdict().validity, Validity::invalid) << "the signature is of another list";

    testing::write_seal(work_, &testing::test_key());
    EXPECT_EQ(verdict().seal.state, judge::Soundness::ok);
    EXPECT_NE(verdict().seal.fingerprint, original.seal.fingerprint) << "it names another signer";
  }
}

}  // namespace
}  // namespace assay::e2e
