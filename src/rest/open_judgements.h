#pragma once

#include <cstdint>
#include <filesystem>
#include <list>
#include <memory>
#include <mutex>
#include <string>

namespace assay::rest {

/// What the judge says of runs that go on, by the evidence that is there. Thread-safe.
class OpenJudgements {
 public:
  static constexpr std::uintmax_t kMostEvidence = std::uintmax_t{1} << 30;

  /// `most_evidence`: bytes of a run above which it is judged only when it has ended.
  explicit OpenJudgements(std::uintmax_t most_evidence = kMostEvidence)
      : most_evidence_(most_evidence) {}

  /// As a result.json, ten seconds old or ten times as old as it took at most. One run is judged at
  /// a time: meanwhile there is the answer of before. Throws Refusal 404 where there is nothing to
  /// judge yet, 413 for too much evidence, 503 while another run is judged.
  [[nodiscard]] std::shared_ptr<const std::string> of(const std::filesystem::path& run);

 private:
  struct Known {
    std::filesystem::path run{};
    std::shared_ptr<const std::string> text{};
    std::int64_t until_ns = 0;
  };
  [[nodiscard]] Known known(const std::filesystem::path& run);

  std::uintmax_t most_evidence_;
  std::mutex judging_;
  std::mutex lock_;
  std::list<Known> known_;  // the newest first
};

}  // namespace assay::rest
