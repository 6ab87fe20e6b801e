#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "catalog/catalog.h"
#include "core/files.h"
#include "core/text.h"
#include "error_of.h"
#include "evidence/chain.h"
#include "judge/judge.h"
#include "judge/resume_check.h"
#include "sealed_run.h"
#include "store/run_dir.h"
#include "temporary_folder.h"
#include "unit/judge/build_evidence.h"

namespace assay::judge {
namespace {

namespace fs = std::filesystem;
using namespace testing;
using assay::testing::seal_by_hand;
using assay::testing::test_key;
using assay::testing::write_seal;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr const char* kRoundId = "run1/case/1/1";

// A run of one rank on one node, recorded as the agent and the controller do: the log grows in ten
// steps, each a link of the chain, and the controller sees every fourth head.
class Integrity : public ::testing::Test {
 protected:
  void SetUp() override {
    plan::Plan plan;
    plan.run_id = "run1";
    plan.suite = "suite";
    plan.telemetry.enabled = false;
    plan.cases = {case_plan(1, 1, 1)};
    plan.cases[0].rules = catalog::load_rules(
        std::string(ASSAY_SOURCE_DIR) + "/conf/rules/default.yaml", "conf/rules/default.yaml");
    store::RunDir::create(folder_.path(), plan);
    record_round(1, kRoundId);
    event(store::JournalEvent::run_end, 14, {{"status", "completed"}});
    write_file_atomic(run_ / "system.json", R"({"nodes": [{"host": "node0"}]})");
    write_seal(run_, &test_key());
  }

  void event(store::JournalEvent kind, double t, Json fields) const {
    fields["mono_ns"] = moment(t).mono_ns;
    fields["wall_ns"] = moment(t).wall_ns;
    store::Journal(run_ / "journal.jsonl").append(kind, fields);
  }

  void record_round(int round, const std::string& id) const {
    const auto about = [&](Json fields) {
      fields.update({{"case", "case"}, {"round", round}});
      return fields;
    };
    event(store::JournalEvent::round_start, -0.1,
          about({{"id", id}, {"nodes", Json::array({{{"node", 0}, {"host", "node0"}}})}}));
    const Json rank{{"rank", 0}, {"local_rank", 0}, {"node", 0}, {"host", "node0"}};
    event(store::JournalEvent::rank_start, 0, about(rank));
    const fs::path node = run_ / "case" / layout::round_folder(round) / "node0_noderank0";
    fs::create_directories(node);
    evidence::Chain chain(id, 0);
    evidence::FileHash log;
    std::ofstream log_file(node / "rank0.out.log");
    std::ofstream chain_file(node / "evidence.jsonl");
    for (int part = 0; part < 10; ++part) {
      std::string text;
      if (part == 0) text += line("TRAIN_START", 2, "");
      for (int i = part * 10 + 1; i <= (part + 1) * 10; ++i)
        text += line("STEP_END", 2 + i * 0.1,
                     fmt::format(R"(, "step": {}, "value": {{"samples": 10}})", i));
      if (part == 9) text += line("TRAIN_END", 12, "");
      log.append(text);
      log_file << text;
      chain_file << chain.append(moment(3 + part), {log.record("rank0.out.log")});
      if (part % 4 == 0)
        event(store::JournalEvent::chain, 3 + part,
              about({{"node", 0}, {"host", "node0"}, {"head", chain.head()}}));
    }
    log_file.close();
    chain_file.close();
    Json exit = rank;
    exit.update({{"code", 0}, {"ended_by", "itself"}, {"dropped_bytes", 0}});
    event(store::JournalEvent::rank_exit, 13, about(exit));
    Json files = Json::array();
    for (const char* name : {"rank0.out.log", "evidence.jsonl"})
      files.push_back(fields_to_json(*evidence::measure_file(node / name, name)));
    event(store::JournalEvent::node_end, 13.1,
          about({{"node", 0},
                 {"host", "node0"},
                 {"killed_leftovers", 0},
                 {"files", files},
                 {"head", chain.head()}}));
    // What the controller wrote itself.
    const fs::path experiment = node.parent_path() / "automl/journal.jsonl";
    fs::create_directories(experiment.parent_path());
    std::ofstream(experiment) << "{\"event\":\"experiment\"}\n{\"event\":\"end\"}\n";
    event(store::JournalEvent::round_files, 13.2,
          about({{"files", Json::array({fields_to_json(
                               *evidence::measure_file(experiment, "automl/journal.jsonl"))})}}));
    event(store::JournalEvent::round_end, 13.2, about({{"status", "completed"}, {"reason", ""}}));
  }

  static std::string line(const std::string& name, double t, const std::string& value) {
    return fmt::format(
        "[PerfLog] {{\"event\": \"{}\"{}, \"metadata\": {{\"time_ms\": {}, \"mono_us\": {}, "
        "\"rank\": 0}}}}\n",
        name, value, stamp(t).wall_ms, stamp(t).mono_us);
  }

  [[nodiscard]] fs::path log() const { return run_ / "case/round1/node0_noderank0/rank0.out.log"; }
  [[nodiscard]] fs::path chain() const { return log().parent_path() / "evidence.jsonl"; }

  template <class F>
  static void edit(const fs::path& file, const F& change) {
    std::string text = read_file(file);
    change(text);
    write_file_atomic(file, text);
  }
  static void replace(const fs::path& file, const std::string& from, const std::string& to) {
    edit(file, [&](std::string& text) {
      ASSERT_NE(text.find(from), std::string::npos);
      text.replace(text.find(from), from.size(), to);
    });
  }
  [[nodiscard]] RunResult judge() const { return judge_run(store::RunDir::open(run_)); }
  [[nodiscard]] ResumeCheck before_resume() const {
    return check_before_resume(store::RunDir::open(run_));
  }
  [[nodiscard]] RoundResult round() const { return judge().cases[0].rounds[0]; }
  // The reason of a round's finding, or what else was found.
  [[nodiscard]] std::string reason(const std::string& rule) const {
    return said(round().findings, rule);
  }
  [[nodiscard]] std::string run_reason(const std::string& rule) const {
    return said(judge().findings, rule);
  }
  static std::string said(const std::vector<Finding>& findings, const std::string& rule) {
    std::string others = "no such finding, but:";
    for (const Finding& one : findings) {
      if (one.rule == rule) return one.reason;
      others += " " + one.rule;
    }
    return others;
  }

  assay::testing::TemporaryFolder folder_;
  const fs::path run_ = folder_.path() / "run1";
};

TEST_F(Integrity, OfEvidenceAsItWasRecordedIsOk) {
  const RunResult result = judge();
  EXPECT_EQ(result.validity, Validity::valid);
  EXPECT_THAT(result.findings, IsEmpty());
  EXPECT_EQ(result.seal.state, Soundness::ok);
  EXPECT_EQ(result.seal.fingerprint, evidence::fingerprint(test_key().public_key()));
  EXPECT_EQ(result.cases[0].rounds[0].evidence.integrity.state, Soundness::ok);
}

TEST_F(Integrity, OfALogThatWasCutInHalfAtALineEndIsFlawed) {
  edit(log(), [](std::string& text) { text.resize(text.find('\n', text.size() / 2) + 1); });
  const RoundResult result = round();
  EXPECT_EQ(result.validity, Validity::invalid);
  EXPECT_EQ(result.evidence.integrity.state, Soundness::flawed);
  EXPECT_THAT(reason("evidence-unchanged"),
              ::testing::ContainsRegex("rank0.out.log: [0-9]+ bytes in 52 lines are there, [0-9]+ "
                                       "bytes in 102 lines were recorded"));
}

// As a full disk under the run directory does while logs are fetched.
TEST_F(Integrity, OfARoundThatCouldNotBeRecordedIsIncompleteWhereTheRestOfALogIsGone) {
  replace(run_ / "journal.jsonl", R"("status":"completed","reason")",
          R"("status":"unrecorded","reason")");
  write_seal(run_, &test_key());
  edit(log(), [](std::string& text) { text.resize(text.size() / 2); });
  EXPECT_EQ(round().validity, Validity::incomplete);
  EXPECT_THAT(reason("evidence-there"), HasSubstr("rank0.out.log: the rest is gone; "));
  edit(chain(), [](std::string& text) { text.resize(text.size() / 2); });
  EXPECT_EQ(round().validity, Validity::incomplete);
  EXPECT_THAT(reason("evidence-there"), HasSubstr("evidence.jsonl: the rest of the chain is gone"));
  replace(log(), R"("step": 5, "value": {"samples": 10})",
          R"("step": 5, "value": {"samples": 99})");
  EXPECT_EQ(round().validity, Validity::invalid);
}

TEST_F(Integrity, NamesTheStretchInWhichALogWasChanged) {
  replace(log(), R"("step": 25, "value": {"samples": 10})",
          R"("step": 25, "value": {"samples": 99})");
  EXPECT_EQ(round().validity, Validity::invalid);
  EXPECT_THAT(reason("evidence-unchanged"),
              ::testing::ContainsRegex("between byte [0-9]+ and byte"));
}

TEST_F(Integrity, MissesALogThatIsGone) {
  fs::remove(log());
  EXPECT_EQ(round().evidence.completeness.state, Soundness::flawed);
  EXPECT_THAT(reason("evidence-there"), HasSubstr("rank0.out.log: is gone"));
}

TEST_F(Integrity, OfALinkInPlaceOfALogOrItsFolderIsFlawedThoughItsContentFits) {
  fs::rename(log(), run_ / "elsewhere");
  fs::create_symlink(run_ / "elsewhere", log());
  EXPECT_EQ(judge().validity, Validity::invalid);
  EXPECT_THAT(reason("evidence-unchanged"), HasSubstr("rank0.out.log: is not a regular file"));
  fs::rename(run_ / "elsewhere", log());
  ASSERT_EQ(judge().validity, Validity::valid);
  fs::rename(run_ / "case", folder_.path() / "other");
  fs::create_directory_symlink(folder_.path() / "other", run_ / "case");
  EXPECT_EQ(judge().validity, Validity::invalid);
}

TEST_F(Integrity, WaitsForNoFifoAndReadsNoDevice) {
  for (const fs::path& file : {log(), chain(), run_ / "system.json"}) {
    const fs::path kept = run_ / "kept";
    fs::rename(file, kept);
    ASSERT_EQ(::mkfifo(file.c_str(), 0600), 0);
    EXPECT_EQ(judge().validity, Validity::invalid) << file;
    fs::remove(file);
    fs::create_symlink("/dev/zero", file);
    EXPECT_EQ(judge().validity, Validity::invalid) << file;
    fs::rename(kept, file);
  }
  const fs::path telemetry = log().parent_path() / "telemetry.csv";
  ASSERT_EQ(::mkfifo(telemetry.c_str(), 0600), 0);
  EXPECT_EQ(judge().validity, Validity::invalid) << "nobody recorded it";
  fs::remove(telemetry);
  EXPECT_EQ(judge().validity, Validity::valid);
  for (const char* name : {"journal.jsonl", "plan.json"}) {
    fs::rename(run_ / name, run_ / "kept");
    ASSERT_EQ(::mkfifo((run_ / name).c_str(), 0600), 0);
    EXPECT_THAT(assay::testing::error_of([&] { return judge(); }),
                HasSubstr(std::string(name) + ": not a regular file"));
    fs::rename(run_ / "kept", run_ / name);
  }
}

TEST_F(Integrity, MissesAnExperimentsJournalAndLinesOfIt) {
  const fs::path journal = run_ / "case/round1/automl/journal.jsonl";
  edit(journal, [](std::string& text) { text.resize(text.find('\n') + 1); });
  EXPECT_THAT(reason("evidence-unchanged"),
              HasSubstr("automl/journal.jsonl: 23 bytes in 1 line are there, 39 bytes in 2 lines "
                        "were recorded"));
  fs::remove(journal);
  EXPECT_THAT(reason("evidence-there"), HasSubstr("automl/journal.jsonl: is gone"));
}

TEST_F(Integrity, OfALogThatWasBegunAgainAtItsLimitIsOk) {
  // Between two links the log got another name, and grew beyond what it was before.
  const std::string old_part = "old old old\n";
  const std::string new_part = "a new part that is longer than the old one\n";
  const fs::path node = log().parent_path();
  write_file_atomic(node / "rank0.out.log.head", old_part);
  write_file_atomic(log(), new_part);
  evidence::Chain chain(kRoundId, 0);
  evidence::FileHash before;
  before.append("old ");
  const auto file = [&](const char* name) { return *evidence::measure_file(node / name, name); };
  std::string links = chain.append(moment(3), {before.record("rank0.out.log")});
  links += chain.append(moment(4), {file("rank0.out.log.head"), file("rank0.out.log")});
  write_file_atomic(this->chain(), links);
  Json files = Json::array();
  for (const char* name : {"rank0.out.log.head", "rank0.out.log", "evidence.jsonl"})
    files.push_back(fields_to_json(file(name)));
  edit(run_ / "journal.jsonl", [&](std::string& text) {
    std::string out;
    for (const std::string_view line : split(std::string_view(text), '\n')) {
      Json event = parse_json_or_null(line);
      if (!event.is_object() || event["event"] == "chain") continue;
      if (event["event"] == "node_end") event.update({{"files", files}, {"head", chain.head()}});
      out += dump_line(event) + "\n";
    }
    text = out;
  });
  EXPECT_EQ(round().evidence.integrity.state, Soundness::ok) << round().evidence.integrity.text;
}

TEST_F(Integrity, KnowsALogThatNobodyRecorded) {
  fs::copy_file(log(), log().parent_path() / "rank1.out.log");
  EXPECT_EQ(round().validity, Validity::invalid);
  EXPECT_THAT(reason("evidence-known"), HasSubstr("rank1.out.log: this file was not recorded"));
}

TEST_F(Integrity, RefusesTheFilesOfAnotherRound) {
  const fs::path other = run_.parent_path() / "other";
  fs::copy(run_, other, fs::copy_options::recursive);
  record_round(2, "run1/case/2/1");
  fs::remove_all(run_ / "case/round1");
  fs::rename(run_ / "case/round2", run_ / "case/round1");
  EXPECT_EQ(round().validity, Validity::invalid);
  EXPECT_THAT(reason("evidence-chained"), HasSubstr("evidence.jsonl:1:"));
}

TEST_F(Integrity, SeesThatAChainWasCut) {
  edit(chain(), [](std::string& text) { text.resize(text.rfind('\n', text.size() - 2) + 1); });
  EXPECT_THAT(reason("evidence-chained"),
              HasSubstr("the chain ends after 9 links at another head"));
}

TEST_F(Integrity, SeesThatAChainWasWrittenAnewUnlessTheWholeJournalWas) {
  // The list and the last head are made to fit, but heads that came while the round ran are not.
  replace(log(), R"("samples": 10)", R"("samples": 99)");
  evidence::Chain anew(kRoundId, 0);
  write_file_atomic(chain(),
                    anew.append(moment(12), {*evidence::measure_file(log(), "rank0.out.log")}));
  edit(run_ / "journal.jsonl", [&](std::string& text) {
    std::string out;
    for (const std::string_view line : split(std::string_view(text), '\n')) {
      Json event = parse_json_or_null(line);
      if (event.is_object() && event["event"] == "node_end") {
        event["files"] = Json::array();
        for (const fs::path& file : {log(), chain()})
          event["files"].push_back(
              fields_to_json(*evidence::measure_file(file, file.filename().string())));
        event["head"] = anew.head();
      }
      if (event.is_object()) out += dump_line(event) + "\n";
    }
    text = out;
  });
  EXPECT_THAT(reason("evidence-chained"), HasSubstr("a head that came while the round ran"));
  EXPECT_THAT(run_reason("seal-fits"), HasSubstr("journal.jsonl is not what was sealed"));
}

TEST_F(Integrity, OfARoundWithoutListsIsUnknownAndIncomplete) {
  edit(run_ / "journal.jsonl", [&](std::string& text) {
    std::string out;
    for (const std::string_view line : split(std::string_view(text), '\n')) {
      Json event = parse_json_or_null(line);
      if (!event.is_object() || event["event"] == "round_files" || event["event"] == "chain")
        continue;
      for (const char* key : {"files", "head", "id"}) event.erase(key);
      out += dump_line(event) + "\n";
    }
    text = out;
  });
  fs::remove(run_ / "seal.json");
  fs::remove(chain());
  EXPECT_EQ(round().evidence.integrity.state, Soundness::unknown);
  EXPECT_EQ(judge().validity, Validity::incomplete);
  EXPECT_THAT(reason("evidence-listed"), HasSubstr("nothing can show whether they were changed"));
  EXPECT_THAT(run_reason("run-sealed"), HasSubstr("there is no seal.json"));
}

TEST_F(Integrity, IsAskedForEvenWhereTheSuiteSwitchedTheRulesOff) {
  edit(run_ / "plan.json", [](std::string& text) {
    Json plan = parse_json(text, "plan.json");
    plan["cases"][0]["rules"] = Json::array();
    text = dump_pretty(plan);
  });
  write_seal(run_, &test_key());
  ASSERT_EQ(judge().validity, Validity::valid);
  replace(log(), R"("samples": 10)", R"("samples": 99)");
  EXPECT_EQ(judge().validity, Validity::invalid);
  EXPECT_THAT(run_reason("evidence-unasked"), HasSubstr("evidence_changed"));
}

// The rules are the plan's; by which standard they are relaxed is the judge's to say.

TEST_F(Integrity, RulesAsTheyAreShippedAreNotRelaxed) {
  const CaseResult found = judge().cases.at(0);
  EXPECT_FALSE(found.relaxed());
  EXPECT_THAT(*found.rule_changes, IsEmpty());
}

TEST_F(Integrity, APlanThatHoldsBackWhatItRelaxedIsFoundOut) {
  edit(run_ / "plan.json", [](std::string& text) {
    Json plan = parse_json(text, "plan.json");
    for (Json& rule : plan["rules"])
      if (rule["id"] == "repeat-spread") rule["max"] = 0.5;
    plan["cases"][0]["rules"] = {{"without", {"min-steps"}}};
    plan["cases"][0]["rule_changes"] = Json::array();
    text = dump_pretty(plan);
  });
  write_seal(run_, &test_key());
  const CaseResult found = judge().cases.at(0);
  EXPECT_TRUE(found.relaxed());
  std::vector<std::string> texts;
  for (const catalog::RuleDifference& change : *found.rule_changes)
    texts.push_back(catalog::difference_text(change));
  ASSERT_EQ(texts.size(), 2U);
  EXPECT_THAT(texts[0], HasSubstr("min-steps: off instead of at least"));
  EXPECT_THAT(texts[0], HasSubstr("not in the plan, which Assay"));
  EXPECT_THAT(texts[1], HasSubstr("repeat-spread: at most 50 % instead of at most 5 %"));
}

// A run that was killed: no run_end, no seal. Its journal has what the controller recorded of the
// run's own files.
class KilledRun : public Integrity {
 protected:
  void SetUp() override {
    Integrity::SetUp();
    fs::remove(run_ / "seal.json");
    fs::remove(run_ / "journal.jsonl");
    event(store::JournalEvent::run_start, -2,
          {{"run", "run1"}, {"evidence", 1}, {"files", records({"plan.json"})}});
    event(store::JournalEvent::run_files, -1, {{"files", records({"system.json"})}});
    record_round(1, kRoundId);
  }
  [[nodiscard]] Json records(const std::vector<std::string>& names) const {
    Json files = Json::array();
    for (const std::string& name : names)
      files.push_back(fields_to_json(*evidence::measure_file(run_ / name, name)));
    return files;
  }
  [[nodiscard]] std::string misfit() const {
    const RunResult result = judge();
    const Finding* found = finding(result.findings, "run-files-fit");
    if (found == nullptr) return "fits";
    EXPECT_EQ(result.validity, Validity::invalid);
    return found->reason;
  }
};

TEST_F(KilledRun, ThatWasLeftAsItWasIsOnlyIncomplete) {
  EXPECT_EQ(misfit(), "fits");
  EXPECT_EQ(judge().validity, Validity::incomplete);
  EXPECT_THAT(before_resume().faults, IsEmpty());
}

TEST_F(KilledRun, WhosePlanWasChangedIsInvalidAndNotResumed) {
  replace(run_ / "plan.json", "\"suite\"", "\"suite\" ");
  EXPECT_THAT(misfit(), HasSubstr("plan.json is not what the journal recorded"));
  EXPECT_THAT(before_resume().faults, ElementsAre(HasSubstr("plan.json")));
  EXPECT_THAT(check_evidence(store::RunDir::open(run_)).faults, Contains(HasSubstr("plan.json")));
}

TEST_F(KilledRun, WhosePlanWasChangedBeforeItWentOnIsInvalid) {
  replace(run_ / "plan.json", "\"suite\"", "\"suite\" ");
  event(store::JournalEvent::run_resume, 14,
        {{"run", "run1"}, {"evidence", 1}, {"files", records({"plan.json"})}});
  EXPECT_THAT(misfit(), HasSubstr("plan.json was changed before the run went on"));
}

TEST_F(KilledRun, WhoseSystemWasChangedOrPutThereIsInvalid) {
  write_file_atomic(run_ / "system.json", R"({"nodes": [{"host": "better"}]})");
  EXPECT_THAT(misfit(), HasSubstr("system.json is not what the journal recorded"));
  fs::remove(run_ / "journal.jsonl");
  event(store::JournalEvent::run_start, -2,
        {{"run", "run1"}, {"evidence", 1}, {"files", records({"plan.json"})}});
  EXPECT_THAT(misfit(), HasSubstr("system.json was recorded by nobody"));
}

TEST_F(KilledRun, ThatEndedBetweenARecordAndItsFileFits) {
  evidence::FileHash next;
  next.append(R"({"nodes": [{"host": "node0", "device_state_after": {}}]})");
  event(store::JournalEvent::run_files, 14,
        {{"files", Json::array({fields_to_json(next.record("system.json"))})}});
  EXPECT_EQ(misfit(), "fits");
}

TEST_F(KilledRun, OfAVersionThatRecordsNoneOfItIsNotBlamed) {
  fs::remove(run_ / "journal.jsonl");
  event(store::JournalEvent::run_start, -2, {{"run", "run1"}, {"evidence", 1}});
  replace(run_ / "plan.json", "\"suite\"", "\"suite\" ");
  EXPECT_EQ(misfit(), "fits");
}

// A challenge that the plan answers.

TEST_F(Integrity, AChallengesSeedIsLookedForInWhatTheRanksGot) {
  const auto answer = [&] { return judge().provenance.at("answer"); };
  const auto with_seed = [&](int planned, const std::string& got) {
    edit(run_ / "plan.json", [&](std::string& text) {
      Json plan = parse_json(text, "plan.json");
      plan["challenge"] = {{"id", "00"},       {"test", "20261115-ab3dE9"}, {"suite", "suite"},
                           {"case", "case"},   {"suite_sha256", ""},        {"seed", 7},
                           {"issued", "then"}, {"expires", "later"}};
      plan["cases"][0]["config"] = {{"seed", planned}};
      text = dump_pretty(plan);
    });
    write_file_atomic(run_ / "case/round1/node0_noderank0/config.json", got);
    write_seal(run_, &test_key());
  };
  with_seed(7, R"({"seed": 7})");
  EXPECT_EQ(answer()["faults"], Json::array());
  EXPECT_EQ(answer()["seed"], "offered");
  EXPECT_EQ(answer()["began"], judge().cases.at(0).rounds.at(0).started);
  with_seed(8, R"({"seed": 7})");
  EXPECT_EQ(answer()["faults"], Json({"the seed of the case 'case' is 8, not 7"}));
  with_seed(7, R"({"seed": 1})");
  EXPECT_EQ(answer()["faults"], Json({"round 1, node 0: the seed in config.json is 1, not 7"}));
  with_seed(7, "");
  EXPECT_EQ(answer()["faults"], Json({"round 1, node 0: the seed in config.json is none, not 7"}));
}

TEST_F(Integrity, OfARunNamesTheFileThatIsNotWhatWasSealed) {
  replace(run_ / "plan.json", "\"suite\"", "\"Suite\"");
  write_seal(run_, &test_key());  // of a plan that says another suite; then the plan is put back
  replace(run_ / "plan.json", "\"Suite\"", "\"suite\"");
  EXPECT_EQ(judge().validity, Validity::invalid);
  EXPECT_THAT(run_reason("seal-fits"), HasSubstr("plan.json is not what was sealed"));
}

TEST_F(Integrity, IsFlawedWhereTheSealWasMadeToFitWithoutTheKey) {
  replace(run_ / "system.json", "node0", "node9");
  const std::string old_seal = read_file(run_ / "seal.json");
  write_seal(run_, nullptr);
  EXPECT_THAT(run_reason("seal-signed"), HasSubstr("anybody can have written it"));
  EXPECT_EQ(judge().validity, Validity::incomplete);

  const Json sealed = parse_json(old_seal, "seal.json");
  edit(run_ / "seal.json", [&](std::string& text) {
    Json forged = parse_json(text, "seal.json");
    forged["public_key"] = sealed["public_key"];
    forged["signature"] = sealed["signature"];
    text = dump_pretty(forged);
  });
  EXPECT_THAT(run_reason("seal-signature"), HasSubstr("does not fit"));
  EXPECT_EQ(judge().validity, Validity::invalid);
  EXPECT_EQ(judge().seal.fingerprint, "") << "nobody is named for it";
}

TEST_F(Integrity, SaysWhenTheSealIsDamagedOrOfAnotherRun) {
  write_file_atomic(run_ / "seal.json", "{\"schema\": 1");
  EXPECT_THAT(run_reason("seal-readable"), HasSubstr("seal.json is damaged"));
  EXPECT_EQ(judge().validity, Validity::incomplete);
}

TEST_F(Integrity, ARunThatIsAsItWasMeasuredMayGoOn) {
  EXPECT_THAT(before_resume().faults, IsEmpty());
  EXPECT_THAT(before_resume().unproven, IsEmpty());
}

TEST_F(Integrity, ARunWhoseSealDoesNotFitMustNotGoOn) {
  for (const char* name : {"journal.jsonl", "plan.json", "system.json"}) {
    const std::string before = read_file(run_ / name);
    edit(run_ / name, [](std::string& text) { text += "\n"; });
    EXPECT_THAT(before_resume().faults, ElementsAre(HasSubstr(name))) << name;
    write_file_atomic(run_ / name, before);
  }
  write_file_atomic(run_ / "seal.json", "{}");
  EXPECT_THAT(before_resume().faults, ElementsAre(HasSubstr("seal.json is damaged")));
}

TEST_F(Integrity, ARunThatWasKilledGoesOnUnlessFilesOfAFinishedRoundWereChanged) {
  fs::remove(run_ / "seal.json");
  edit(run_ / "journal.jsonl",
       [](std::string& text) { text.resize(text.find("{\"event\":\"run_end\"")); });
  EXPECT_THAT(before_resume().faults, IsEmpty());
  EXPECT_THAT(before_resume().unproven, IsEmpty()) << "it is sealed at its end";
  event(store::JournalEvent::round_start, 20, {{"case", "case"}, {"round", 2}, {"id", "x"}});
  fs::create_directories(run_ / "case/round2/node0_noderank0");
  std::ofstream(run_ / "case/round2/node0_noderank0/rank0.out.log") << "cut off\n";
  EXPECT_THAT(before_resume().faults, ElementsAre(HasSubstr("plan.json: case was run 2 times")));
  replace(log(), R"("samples": 10)", R"("samples": 99)");
  EXPECT_THAT(before_resume().faults, ElementsAre(HasSubstr("round1/node0_noderank0/rank0.out.log"),
                                                  HasSubstr("plan.json")));
}

TEST_F(Integrity, WhatNothingCouldShowBeforeARunWentOnStaysSoForEver) {
  event(store::JournalEvent::run_start, -1, {{"evidence", 1}});
  event(store::JournalEvent::run_end, 15, {{"status", "interrupted"}});
  write_seal(run_, nullptr);
  EXPECT_THAT(before_resume().faults, IsEmpty());
  EXPECT_THAT(before_resume().unproven, ElementsAre(HasSubstr("is not signed")));
  fs::remove(run_ / "seal.json");
  const std::vector<std::string> unproven = before_resume().unproven;
  EXPECT_THAT(unproven, ElementsAre(HasSubstr("there is no seal.json")));
  event(store::JournalEvent::run_resume, 16, {{"evidence", 1}});
  event(store::JournalEvent::run_unproven, 16, {{"reasons", unproven}});
  event(store::JournalEvent::run_end, 17, {{"status", "completed"}});
  write_seal(run_, &test_key());
  EXPECT_EQ(judge().validity, Validity::incomplete);
  EXPECT_THAT(run_reason("resumed-unproven"), HasSubstr("there is no seal.json"));
}

TEST_F(Integrity, ARunThatHadNoKeyIsNotSignedAndNoLessValid) {
  event(store::JournalEvent::run_start, -1, {{"evidence", 1}});
  event(store::JournalEvent::run_end, 15, {{"status", "completed"}});
  event(store::JournalEvent::run_unsigned, 15, {{"reason", "there is no place for keys"}});
  write_seal(run_, nullptr);
  EXPECT_EQ(judge().validity, Validity::valid);
  EXPECT_THAT(run_reason("seal-signed"), HasSubstr("there is no place for keys"));
  EXPECT_THAT(before_resume().faults, IsEmpty());
  EXPECT_THAT(before_resume().unproven, IsEmpty());
}

TEST_F(Integrity, ARunThatSaysWhyItHasNoSealIsProvenByItsLists) {
  event(store::JournalEvent::run_start, -1, {{"evidence", 1}});
  event(store::JournalEvent::run_end, 15, {{"status", "completed"}});
  event(store::JournalEvent::run_unsealed, 15, {{"reason", "No space left on device"}});
  fs::remove(run_ / "seal.json");
  EXPECT_EQ(judge().validity, Validity::incomplete);
  EXPECT_THAT(run_reason("run-sealed"), HasSubstr("there is no seal.json"));
  EXPECT_THAT(before_resume().faults, IsEmpty());
  EXPECT_THAT(before_resume().unproven, IsEmpty());
  replace(log(), R"("samples": 10)", R"("samples": 99)");
  EXPECT_THAT(before_resume().faults, Not(IsEmpty()));
}

TEST_F(Integrity, OfARoundThatCouldNotBeStartedDoesNotMissTheListOfWhatItWasGiven) {
  edit(run_ / "journal.jsonl", [&](std::string& text) {
    std::string out;
    for (const std::string_view line : split(std::string_view(text), '\n')) {
      Json entry = parse_json_or_null(line);
      if (!entry.is_object() || entry["event"] == "rank_start" || entry["event"] == "rank_exit")
        continue;
      if (entry["event"] == "round_end") {
        entry["status"] = "launch_failed";
        entry["reason"] = "rank 1 on n2: cannot make a pipe: Too many open files";
      }
      out += dump_line(entry) + "\n";
    }
    text = out;
  });
  write_file_atomic(run_ / "case/round1/node0_noderank0/config.json", "{\"unlisted\": 1}");
  for (const auto& entry : fs::directory_iterator(run_ / "case/round1/node0_noderank0"))
    if (entry.path().filename() != "config.json") fs::remove(entry.path());
  write_seal(run_, &test_key());
  const RunResult result = judge();
  EXPECT_EQ(result.validity, Validity::incomplete);
  EXPECT_EQ(result.cases.at(0).rounds.at(0).findings.at(0).rule, "launch-failed");
}

TEST_F(Integrity, OfRoundsOfAnEarlierVersionStaysUnknownUnderALaterSeal) {
  edit(run_ / "journal.jsonl", [&](std::string& text) {
    std::string out;
    for (const std::string_view line : split(std::string_view(text), '\n')) {
      Json event = parse_json_or_null(line);
      if (!event.is_object() || event["event"] == "round_files" || event["event"] == "chain")
        continue;
      for (const char* key : {"files", "head", "id"}) event.erase(key);
      out += dump_line(event) + "\n";
    }
    text = out;
  });
  edit(run_ / "plan.json", [](std::string& text) {
    Json plan = parse_json(text, "plan.json");
    plan["cases"][0]["rules"] = Json::array();
    text = dump_pretty(plan);
  });
  fs::remove(run_ / "seal.json");
  EXPECT_THAT(before_resume().faults, IsEmpty());
  EXPECT_THAT(before_resume().unproven, IsEmpty()) << "the judge sees it by itself";
  write_seal(run_, &test_key());
  EXPECT_EQ(judge().validity, Validity::incomplete);
  EXPECT_THAT(run_reason("rounds-listed"), HasSubstr("nothing can show whether they were changed"));
}

TEST_F(Integrity, IsMadeWholeByTheHelperForHandMadeRuns) {
  fs::remove(run_ / "seal.json");
  record_round(1, "again");
  seal_by_hand(run_);
  EXPECT_EQ(judge().validity, Validity::valid);
}

}  // namespace
}  // namespace assay::judge
