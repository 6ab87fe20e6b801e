#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "core/files.h"

namespace assay::automl {

/// The weights of finished trials, one file each. When they exceed `limit` bytes together, those of
/// the least accurate trials are removed first: their children train from scratch. Weights are not
/// evidence, so a full disk loses only them, and on_change says so. One thread.
class WeightsStore {
 public:
  WeightsStore(std::filesystem::path directory, std::uint64_t limit);

  /// What became of a trial's weights: kept, or why they are not there (any more); `displaced` by
  /// those of better trials.
  using OnChange = std::function<void(std::int64_t trial, std::int64_t bytes,
                                      const std::string& problem, bool displaced)>;
  void on_change(OnChange tell) { tell_ = std::move(tell); }

  /// A file that comes in pieces; in place only when it is complete.
  class Upload {
   public:
    [[nodiscard]] std::int64_t missing() const noexcept { return missing_; }
    void write(std::string_view piece) noexcept;  ///< at most missing() bytes
    void finish();                                ///< when nothing is missing
    Upload(Upload&& other) noexcept;
    Upload& operator=(Upload&& other) = delete;
    ~Upload();

   private:
    friend class WeightsStore;
    Upload(WeightsStore& store, std::int64_t trial, std::int64_t bytes);
    WeightsStore* store_;
    std::int64_t trial_;
    std::int64_t bytes_;
    std::int64_t missing_;
    std::filesystem::path part_;
    std::string problem_;
    UniqueFd fd_;  // none when there is a problem; what comes is then ignored
  };
  [[nodiscard]] Upload receive(std::int64_t trial, std::int64_t bytes);

  class Download {
   public:
    [[nodiscard]] std::int64_t missing() const noexcept { return missing_; }
    /// The next piece, of `bytes` at most; zeros for what has gone meanwhile, which the reader's
    /// checksum finds.
    [[nodiscard]] std::string read(std::size_t bytes);

   private:
    friend class WeightsStore;
    UniqueFd fd_;
    std::int64_t missing_ = 0;
  };
  [[nodiscard]] std::optional<Download> open(std::int64_t trial) const;

  /// Sets the accuracy by which a trial's weights are kept or removed.
  void value(std::int64_t trial, double accuracy) { values_[trial] = accuracy; }

 private:
  [[nodiscard]] std::filesystem::path file(std::int64_t trial) const;
  void make_room(std::int64_t bytes);

  std::filesystem::path directory_;
  std::uint64_t limit_;
  std::uint64_t used_ = 0;
  std::uint64_t uploads_ = 0;
  std::map<std::int64_t, std::uint64_t> sizes_;
  std::map<std::int64_t, double> values_;
  OnChange tell_;
};

}  // namespace assay::automl
