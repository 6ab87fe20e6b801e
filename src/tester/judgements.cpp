#include "tester/judgements.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "core/error.h"
#include "core/files.h"
#include "core/json_access.h"
#include "core/json_error.h"
#include "core/regular_file.h"
#include "core/run_layout.h"
#include "core/text.h"
#include "core/time.h"
#include "evidence/key_store.h"
#include "report/read_result.h"
#include "serve/log.h"
#include "tester/challenges.h"
#include "tester/claim.h"
#include "tester/evidence_state.h"
#include "tester/failure.h"
#include "tester/test_file.h"

namespace assay::tester {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kMaxWaiting = 1000;
constexpr std::uintmax_t kMaxResult = 128U << 20;

Json metrics_of(const judge::RunResult& result) {
  Json out = Json::object();
  for (const judge::CaseResult& one : result.cases) {
    Json metrics = Json::object();
    for (const judge::Summary& summary : one.summary) {
      const std::string& name = summary.info.name;
      metrics[name] = {{"value", summary.median}, {"unit", summary.info.unit}};
      if (name == one.headline) metrics[name]["role"] = "headline";
      if (name == one.beside) metrics[name]["role"] = "beside";
    }
    out[one.name] = std::move(metrics);
  }
  return out;
}

// Rules that were relaxed compared with the tester's, each once.
Json relaxations_of(const Json& result) {
  constexpr std::size_t kMaxShown = 100;
  Json out = Json::array();
  for (const Json& case_result : list_at(result, "cases"))
    for (const Json& change : list_at(case_result, "rule_changes"))
      if (const Json text = text_at(change, "text"); change.value("relaxed", false) &&
                                                     out.size() < kMaxShown &&
                                                     std::ranges::find(out, text) == out.end())
        out.push_back(text);
  return out;
}

// Syncs the file under its name before the database refers to it.
void keep(const fs::path& from, const fs::path& to) {
  const UniqueFd file(::open(from.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file || ::fsync(file.get()) != 0)
    throw system_error(ErrorKind::environment, "cannot keep", from.string(), errno);
  fs::rename(from, to);
  const UniqueFd folder(::open(to.parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder) ::fsync(folder.get());
}

serve::Refusal being_stopped() {
  serve::Refusal refusal(503, "ending", "the tester is being stopped", "ask again when it is back");
  refusal.retry_after_s = 5;
  return refusal;
}

Json reason(const std::string& message) {
  return {{"case", ""},
          {"metric", ""},
          {"claimed", nullptr},
          {"recomputed", nullptr},
          {"message", message}};
}

}  // namespace

Judgements::Judgements(Records& records, Uploads& uploads, JudgeOptions options, fs::path keys)
    : records_(records),
      uploads_(uploads),
      options_(std::move(options)),
      keys_(std::move(keys)),
      queue_(kMaxWaiting, kMaxWaiting / 4) {
  thread_ = std::jthread([this](const std::stop_token& stop) { work(stop); });
}

Judgements::~Judgements() {
  stop();
}

void Judgements::stop() {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
  std::map<std::string, std::vector<Done>> left;
  {
    const std::scoped_lock lock(lock_);
    stopped_ = true;
    queue_.clear();
    left = std::exchange(waiting_, {});
  }
  for (const auto& [id, waiting] : left)
    for (const Done& done : waiting) done(being_stopped());
}

void Judgements::judge(const std::string& id, const std::string& token, Done done) {
  const std::scoped_lock lock(lock_);
  if (stopped_) throw being_stopped();
  const auto found = waiting_.find(id);
  if (found != waiting_.end()) {
    found->second.push_back(std::move(done));
    return;
  }
  if (!queue_.push(token, id)) {
    serve::Refusal busy(503, "busy", fmt::format("{} tests wait to be judged", queue_.size()),
                        "ask again later");
    busy.retry_after_s = 10;
    throw busy;
  }
  waiting_[id].push_back(std::move(done));
  changed_.notify_all();
}

void Judgements::work(const std::stop_token& stop) {
  while (true) {
    std::string id;
    {
      std::unique_lock lock(lock_);
      if (!changed_.wait(lock, stop, [&] { return !queue_.empty(); })) return;
      if (stop.stop_requested()) return;
      id = queue_.pop();
    }
    std::optional<serve::Refusal> undecided;
    try {
      decide(id, stop);
    } catch (const serve::Refusal& refusal) {
      undecided = refusal;
    } catch (const std::exception& error) {
      if (!stop.stop_requested())
        serve::log_error(fmt::format("test {}: {}", id, plain_error(error)));
      undecided = failure_of(error, "the tester could not judge the test");
    }
    uploads_.remove_work(id);
    if (stop.stop_requested()) return;
    std::vector<Done> waiting;
    {
      const std::scoped_lock lock(lock_);
      waiting = std::move(waiting_[id]);
      waiting_.erase(id);
    }
    for (const Done& done : waiting) done(undecided);
  }
}

void Judgements::decide(const std::string& id, const std::stop_token& stop) {
  std::optional<TestRecord> test = records_.test(id);
  if (!test || test->status == TestStatus::accepted || test->status == TestStatus::refused) return;
  const std::optional<Manifest> manifest = records_.manifest(id);
  if (!manifest)
    throw serve::Refusal(409, "no_manifest", "the test has no manifest yet",
                         "send it, then the files");
  const fs::path work = uploads_.make_work_folder(id, *manifest);
  const JudgeOutcome outcome = run_judge(options_, work, uploads_.folder(id) / "judge.log", stop);
  switch (outcome.end) {
    case JudgeEnd::judged:
      accept_or_refuse(std::move(*test), *manifest, work);
      return;
    case JudgeEnd::unfit:
      refuse(std::move(*test),
             Json::array({reason("the evidence cannot be judged: " + outcome.message)}));
      return;
    case JudgeEnd::exceeded:
      refuse(std::move(*test),
             Json::array({reason("the evidence cannot be judged within the tester's limits: " +
                                 outcome.message)}));
      return;
    case JudgeEnd::no_room:
      throw system_error(ErrorKind::environment, "cannot judge", uploads_.folder(id).string(),
                         ENOSPC);
    case JudgeEnd::stopped:
    case JudgeEnd::broken:
      break;
  }
  throw Error(ErrorKind::environment, outcome.message);
}

void Judgements::accept_or_refuse(TestRecord test, const Manifest& manifest, const fs::path& work) {
  const fs::path file = work / layout::kResult;
  if (fs::file_size(file) > kMaxResult) {
    refuse(std::move(test), Json::array({reason("the result has more than 128 MiB")}));
    return;
  }
  const std::string text = read_regular_file(file);
  const Json recomputed = claim_of(text, "result.json");
  const Json result = parse_json(text, "result.json");
  const judge::RunResult judged = report::read_result(result, "result.json");
  Json reasons = Json::array();
  for (const std::string& fault : integrity_faults(judged))
    reasons.push_back(reason("the evidence is not what was recorded: " + fault));
  for (const Difference& difference : differences(manifest.claim, recomputed))
    reasons.push_back(to_json(difference));
  Json comparison;
  const std::string challenge = answer_challenge(test, judged, reasons, comparison);
  if (!reasons.empty()) {
    refuse(std::move(test), std::move(reasons));
    return;
  }
  test.status = TestStatus::accepted;
  test.verdict = text_at(recomputed, "verdict");
  test.run_id = text_at(recomputed, "run_id");
  test.suite = text_at(recomputed, "suite");
  const auto claimed_hash = manifest.claim.find("result_sha256");
  test.answer = {{"status", "accepted"},
                 {"test_id", test.id},
                 {"verdict", test.verdict},
                 {"identical", claimed_hash != manifest.claim.end() &&
                                   *claimed_hash == recomputed["result_sha256"]},
                 {"evidence", evidence_summary(judged,
                                               [&](const std::string& key) {
                                                 return evidence::KeyStore(keys_).name_of(key);
                                               })},
                 {"metrics", metrics_of(judged)}};
  if (!comparison.is_null()) test.answer["challenge"] = std::move(comparison);
  if (Json relaxed = relaxations_of(result); !relaxed.empty())
    test.answer["relaxed"] = std::move(relaxed);
  keep(work / layout::kReportHtml, uploads_.folder(test.id) / layout::kReportHtml);
  keep(file, uploads_.folder(test.id) / layout::kResult);
  const BoardRun board = board_run(judged);
  records_.finish(test, challenge, &board);
  describe(test.id);
}

std::string Judgements::answer_challenge(const TestRecord& test, const judge::RunResult& result,
                                         Json& reasons, Json& comparison) {
  const auto id = answered_challenge(result);
  if (!id) return {};
  const auto known = records_.challenge(*id);
  const auto before = known ? records_.test(known->challenge.test) : std::nullopt;
  const Answering answer{test.id, test.token, result, before ? before->token : ""};
  const auto faults = challenge_faults(answer, known, wall_now_ns());
  for (const std::string& fault : faults) reasons.push_back(reason(fault));
  if (!faults.empty()) return *id;
  const fs::path file = uploads_.folder(before->id) / layout::kResult;
  comparison = compare_answer(known->challenge, report::read_result(file), result);
  return *id;
}

void Judgements::refuse(TestRecord test, Json reasons) {
  test.status = TestStatus::refused;
  test.answer = {{"status", "refused"}, {"test_id", test.id}, {"reasons", std::move(reasons)}};
  records_.finish(test);
  describe(test.id);
  uploads_.remove_evidence(test.id);
}

void Judgements::describe(const std::string& id) {
  if (const auto ended = records_.test(id))
    write_test_file(uploads_.folder(id), *ended, records_.manifest(id));
}

}  // namespace assay::tester
