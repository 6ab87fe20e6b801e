#include "exports/step_rows.h"

#include <algorithm>
#include <deque>
#include <memory>
#include <optional>

namespace assay::exports {

namespace {

constexpr std::uint64_t kPieceOfLog = 256U << 10;
// Logs may contain any number; sums of these fit into 64 bits.
constexpr std::int64_t kMaxNumber = std::int64_t{1} << 53;
constexpr std::int64_t kMaxStep = std::int64_t{1} << 60;

// A rank's rows, read on demand.
class RankRows {
 public:
  RankRows(const live::LogFile& log, double clock_offset)
      : reader_(log), clock_offset_(clock_offset), rank_(log.rank) {
    sink_.step = [this](int, std::int64_t number) { begin(number); };
    sink_.value = [this](live::MetricName name, live::Scope scope, int, int item, double t,
                         double value) { put(name, t, value, scope, item); };
    sink_.amount = [this](live::MetricName name, int, double from, double to, double amount, bool) {
      put(name, to, amount / (to - from));
    };
    sink_.mark = [](const live::RunMark&) {};
  }
  RankRows(const RankRows&) = delete;
  RankRows& operator=(const RankRows&) = delete;

  // Reads until the first row is complete: another one follows, or the log ends.
  void fill() {
    while (!over_ && rows_.size() < 2) {
      std::uint64_t left = kPieceOfLog;
      const bool same = reader_.look(kPieceOfLog, clock_offset_, true, sink_, left);
      over_ = !same || left > 0;
    }
  }
  [[nodiscard]] const StepRow* first() const { return rows_.empty() ? nullptr : &rows_.front(); }
  void drop_first() { rows_.pop_front(); }

 private:
  void begin(std::int64_t number) {
    number = std::clamp<std::int64_t>(number, 0, kMaxNumber);
    const std::int64_t lowest = last_ ? *last_ + 1 : 0;
    if (number + shift_ < lowest || number + shift_ > kMaxStep) shift_ = lowest - number;
    last_ = number + shift_;
    // Evaluations before the first step belong to step 0.
    if (rows_.empty() || rows_.back().step < *last_) rows_.push_back({.step = *last_});
  }
  void put(live::MetricName name, double t, double value, live::Scope scope = live::Scope::rank,
           int item = -1) {
    if (rows_.empty()) rows_.push_back({.step = last_.value_or(0)});
    StepRow& row = rows_.back();
    row.t = std::max(row.t, t);
    row.values.push_back({rank_, name, value, scope, item});
  }

  live::RankReader reader_;
  live::MetricSink sink_{};
  double clock_offset_;
  int rank_;
  std::deque<StepRow> rows_;
  std::optional<std::int64_t> last_;
  std::int64_t shift_ = 0;
  bool over_ = false;
};

}  // namespace

void read_step_rows(const RunFiles& files, const std::vector<live::LogFile>& logs,
                    const std::function<void(const StepRow&)>& on_row) {
  std::vector<std::unique_ptr<RankRows>> ranks;  // pointers, because their sinks refer to them
  for (const live::LogFile& log : logs)
    ranks.push_back(std::make_unique<RankRows>(log, files.watch().clock_offset(log.node)));
  for (;;) {
    std::optional<std::int64_t> next;
    for (const auto& rank : ranks) {
      rank->fill();
      if (const StepRow* row = rank->first()) next = std::min(next.value_or(row->step), row->step);
    }
    if (!next) return;
    StepRow together{.step = *next};
    for (const auto& rank : ranks) {
      const StepRow* row = rank->first();
      if (row == nullptr || row->step != *next) continue;
      together.t = std::max(together.t, row->t);
      together.values.insert(together.values.end(), row->values.begin(), row->values.end());
      rank->drop_first();
    }
    if (!together.values.empty()) on_row(together);
  }
}

}  // namespace assay::exports
