#pragma once

#include <condition_variable>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "judge/result.h"
#include "serve/fair_queue.h"
#include "serve/refusal.h"
#include "tester/judge_process.h"
#include "tester/records.h"
#include "tester/uploads.h"

namespace assay::tester {

/// Judges tests one after another in its own thread, and stores the results. A test is accepted if
/// the recomputed result matches the claim, and nothing shows that its evidence was changed. A test
/// that could not be judged because of this machine keeps its state.
class Judgements {
 public:
  /// Called with nothing once the test has ended (see its record), else with the obstacle.
  using Done = std::function<void(const std::optional<serve::Refusal>&)>;

  /// `keys` is the folder of the evidence::KeyStore with the keys that the tester knows by name.
  Judgements(Records& records, Uploads& uploads, JudgeOptions options, std::filesystem::path keys);
  Judgements(const Judgements&) = delete;
  Judgements& operator=(const Judgements&) = delete;
  ~Judgements();
  /// Ends the judgement in progress and asks its callers to try again, which repeats it.
  void stop();

  /// Queues the test unless it is already queued; tokens take turns. Calls `done` once, from any
  /// thread. Throws Refusal 503 if too many wait.
  void judge(const std::string& id, const std::string& token, Done done);

 private:
  void work(const std::stop_token& stop);
  void decide(const std::string& id, const std::stop_token& stop);
  void accept_or_refuse(TestRecord test, const Manifest& manifest,
                        const std::filesystem::path& work);
  /// The challenge that `result` answers, with its comparison in test.answer["challenge"]; empty if
  /// none. If it does not answer it, the reason is added to `reasons`.
  [[nodiscard]] std::string answer_challenge(const TestRecord& test, const judge::RunResult& result,
                                             Json& reasons, Json& comparison);
  void refuse(TestRecord test, Json reasons);
  void describe(const std::string& id);  // in the test's folder

  Records& records_;
  Uploads& uploads_;
  JudgeOptions options_;
  std::filesystem::path keys_;
  std::mutex lock_;
  std::condition_variable_any changed_;
  bool stopped_ = false;
  serve::FairQueue<std::string> queue_;
  std::map<std::string, std::vector<Done>> waiting_;  // for tests that are queued or being judged
  std::jthread thread_;
};

}  // namespace assay::tester
