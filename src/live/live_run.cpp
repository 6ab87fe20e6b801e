#include "live/live_run.h"

#include <algorithm>
#include <optional>
#include <random>

#include <fmt/format.h>

#include "core/crc32.h"
#include "core/error.h"
#include "core/parse_number.h"
#include "core/text.h"
#include "core/time.h"

namespace assay::live {

namespace {

// Work for one answer: a second or less. What is left is done with the next ones.
constexpr std::uint64_t kBytesOfAnswer = 256ULL << 20;
// However many ask, the folder is looked at so often.
constexpr std::int64_t kFresh = 200'000'000;

template <class T>
T number_parameter(const std::string& name, const std::string& text) {
  const std::optional<T> value = parse_number<T>(text);
  if (!value)
    throw Error(ErrorKind::usage,
                "'" + name + "' is not a number: '" + printable(ellipsize(text, 40)) + "'");
  return *value;
}

/// `since_ns`: when that was looked at which this must not be older than.
bool is_fresh(std::int64_t& looked_ns, std::int64_t since_ns = 0) {
  const std::int64_t now = mono_now_ns();
  if (looked_ns != 0 && looked_ns >= since_ns && now - looked_ns < kFresh) return true;
  looked_ns = now;
  return false;
}

// Wherever the data of the platform lie: job, attempt and run.
std::string id_of(const std::filesystem::path& run) {
  constexpr int kParts = 5;
  std::string names;
  std::filesystem::path left = run.lexically_normal();
  if (!left.has_filename()) left = left.parent_path();
  for (int i = 0; i < kParts && left.has_filename(); ++i, left = left.parent_path())
    names += left.filename().string() + "/";
  return fmt::format("{:08x}",
                     crc32({reinterpret_cast<const std::uint8_t*>(names.data()), names.size()}));
}

// Nobody takes numbers that another one of these gave for its own, however soon that was. A browser
// holds 53 bits.
std::uint64_t first_generation() {
  std::random_device random;
  return (std::uint64_t{random()} << 16U) ^ random();
}

}  // namespace

LiveRun::LiveRun(std::filesystem::path run)
    : path_(run),
      watch_(std::move(run)),
      id_(id_of(path_)),
      console_(std::make_unique<Console>(first_generation())),
      metrics_(std::make_unique<Metrics>(first_generation())) {}

void LiveRun::look() {
  if (is_fresh(looked_ns_)) return;
  if (watch_.look()) return;
  // Another run lies there: nobody who has numbers of the old one may take them for the new one's.
  const std::uint64_t console = console_->generation();
  const std::uint64_t metrics = metrics_->generation();
  console_ = std::make_unique<Console>(console + 1);
  metrics_ = std::make_unique<Metrics>(metrics + 1);
  console_looked_ns_ = metrics_looked_ns_ = 0;
}

void LiveRun::look_at_console() {
  look();
  // Whoever reads that the run has ended reads all of its output.
  if (!is_fresh(console_looked_ns_, looked_ns_)) console_->look(watch_, kBytesOfAnswer);
}

void LiveRun::add_state(Json& json) const {
  const bool live = watch_.ended() || watch_.late().empty();
  json["ended"] = watch_.ended();
  json["live"] = live;
  if (!live) json["why"] = watch_.late();
}

Json LiveRun::log(const ConsoleQuery& query) {
  LogPlace place;
  Json json = log(query, place);
  for (const Json& line : json["lines"])
    place.take(0, line["log"].get_ref<const std::string&>(), line["end"].get<std::uint64_t>());
  place.number = json["next"].get<std::uint64_t>() - 1;
  json["place"] = text_of(place);
  return json;
}

Json LiveRun::log(ConsoleQuery query, LogPlace& before) {
  const std::scoped_lock hold(lock_);
  look_at_console();
  if (query.after && query.after->run != id_) query.after = LogPlace{};
  Json json = console_->page(query, before);
  before.run = id_;
  add_state(json);
  return json;
}

std::string LiveRun::log_text(std::optional<int> rank, TextPlace& from, std::size_t most) {
  const std::scoped_lock hold(lock_);
  look_at_console();
  return console_->text(rank, from, most);
}

Json LiveRun::read_metrics(const MetricsQuery& query) {
  look();
  if (!is_fresh(metrics_looked_ns_, looked_ns_)) metrics_->look(watch_, kBytesOfAnswer);
  Json json = metrics_->read(query);
  add_state(json);
  return json;
}

Json LiveRun::metrics(const MetricsQuery& query) {
  const std::scoped_lock hold(lock_);
  return read_metrics(query);
}

LiveRun::MetricsText LiveRun::metrics_text(const MetricsQuery& query) {
  constexpr std::size_t kKept = 8;
  // To its end: an answer is of the look that it is kept with, and who asks for the same meanwhile
  // waits for it.
  const std::scoped_lock hold(lock_);
  const bool stale = metrics_looked_ns_ == 0 || mono_now_ns() - metrics_looked_ns_ >= kFresh;
  for (const Shared& known : shared_)
    if (!stale && known.looked_ns == metrics_looked_ns_ && known.query == query) return known.text;
  const Json answer = read_metrics(query);
  MetricsText text{std::make_shared<const std::string>(dump_line(answer)),
                   answer["newest"].get<double>(),
                   answer["ended"].get<bool>() && !answer["indexing"].get<bool>()};
  shared_.push_front({query, metrics_looked_ns_, text});
  if (shared_.size() > kKept) shared_.pop_back();
  return text;
}

bool LiveRun::ended() {
  const std::scoped_lock hold(lock_);
  look();
  return watch_.ended();
}

std::shared_ptr<LiveRun> LiveRuns::open(const std::filesystem::path& run) {
  const std::scoped_lock hold(lock_);
  const auto found =
      std::ranges::find_if(runs_, [&](const auto& known) { return known.first == run; });
  if (found != runs_.end()) {
    runs_.splice(runs_.begin(), runs_, found);
  } else {
    runs_.emplace_front(run, std::make_shared<LiveRun>(run));
    if (runs_.size() > most_) runs_.pop_back();
  }
  return runs_.front().second;
}

ConsoleQuery console_query(const std::map<std::string, std::string>& parameters) {
  ConsoleQuery query;
  for (const auto& [name, text] : parameters) {
    if (name == "rank" && text != "all" && !text.empty()) {
      query.rank = number_parameter<int>(name, text);
    } else if (name == "from") {
      query.from = number_parameter<std::int64_t>(name, text);
    } else if (name == "lines") {
      query.lines = number_parameter<std::size_t>(name, text);
    } else if (name == "search") {
      query.search = text.substr(0, 1000);
    } else if (name == "first_error") {
      query.first_error = text != "0" && !text.empty();
    } else if (name == "after") {
      query.after = parse_log_place(text);
      if (!query.after)
        throw Error(ErrorKind::usage, "'after' is not a place that an answer has named: '" +
                                          printable(ellipsize(text, 40)) + "'");
    } else if (name == "show") {
      const auto show = parse_enum<Lines>(text);
      if (!show)
        throw Error(ErrorKind::usage, "'show' is not all, text, warnings or errors: '" +
                                          printable(ellipsize(text, 40)) + "'");
      query.show = *show;
    }
  }
  return query;
}

MetricsQuery metrics_query(const std::map<std::string, std::string>& parameters) {
  MetricsQuery query;
  for (const auto& [name, text] : parameters) {
    if (name == "from") query.span.from = number_parameter<double>(name, text);
    if (name == "to") query.span.to = number_parameter<double>(name, text);
    if (name == "points") query.points = number_parameter<std::size_t>(name, text);
  }
  return query;
}

}  // namespace assay::live
