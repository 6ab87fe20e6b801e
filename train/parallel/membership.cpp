#include "train/parallel/membership.h"

#include <algorithm>
#include <vector>

#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "core/host.h"
#include "core/text.h"
#include "core/time.h"

namespace assay::train {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

// How long a process may take to end on its own once a lost rank is known.
constexpr auto kGrace = std::chrono::seconds(5);
// How long rank 0 keeps the store running for the others at the end.
constexpr auto kFarewell = std::chrono::seconds(10);
constexpr auto kPoll = milliseconds(50);
// Why a rank left: by itself, or because of another.
constexpr const char* kLeft = "end";
constexpr const char* kConsequence = "consequence";

std::vector<std::uint8_t> bytes(const std::string& text) {
  return {text.begin(), text.end()};
}

std::string text(const std::vector<std::uint8_t>& value) {
  return {value.begin(), value.end()};
}

c10::intrusive_ptr<c10d::Store> connect(const workload::Place& place, milliseconds timeout,
                                        bool serve) {
  c10d::TCPStoreOptions options;
  options.port = place.master_port;
  options.isServer = serve;
  options.waitWorkers = false;
  options.timeout = timeout;
  return c10::make_intrusive<c10d::PrefixStore>(
      "assay/" + place.attempt, c10::make_intrusive<c10d::TCPStore>(place.master_address, options));
}

// The first line in which two texts differ, from each of them.
std::pair<std::string, std::string> difference(const std::string& a, const std::string& b) {
  const std::vector<std::string_view> lines_a = split(a, '\n');
  const std::vector<std::string_view> lines_b = split(b, '\n');
  for (std::size_t i = 0; i < std::max(lines_a.size(), lines_b.size()); ++i) {
    const std::string_view line_a = i < lines_a.size() ? lines_a[i] : "";
    const std::string_view line_b = i < lines_b.size() ? lines_b[i] : "";
    if (line_a != line_b) return {std::string(line_a), std::string(line_b)};
  }
  return {};
}

std::string list(const std::vector<int>& ranks) {
  std::string out;
  for (std::size_t i = 0; i < ranks.size() && i < 8; ++i)
    out += (i == 0 ? "" : ", ") + std::to_string(ranks[i]);
  if (ranks.size() > 8) out += " and " + std::to_string(ranks.size() - 8) + " more";
  return out;
}

}  // namespace

Membership::Membership(const workload::Place& place, const MembershipOptions& options,
                       OnLost on_lost)
    : place_(place), options_(options), on_lost_(std::move(on_lost)) {
  const bool serve = place.rank == 0 && !place.launcher_has_store;
  // Allows for two connections, and for ranks that appear at the last moment.
  allow(3 * options.join);
  guard_ = std::thread([this] { guard(); });
  try {
    connect_and_join(serve);
    allow(options.silence);
    watcher_ = std::thread([this] { watch(); });
  } catch (...) {
    end_guard();
    throw;
  }
}

void Membership::connect_and_join(bool serve) {
  const workload::Place& place = place_;
  const MembershipOptions& options = options_;
  const std::string master = place.master_address + ":" + std::to_string(place.master_port);
  try {
    store_ = connect(place, options.join, serve);
    watch_store_ = connect(place, options.join, false);
  } catch (const std::exception& error) {
    if (serve)
      throw Error(ErrorKind::environment,
                  "cannot serve the ranks' store at " + master + ": " + first_line(error),
                  "MASTER_ADDR, MASTER_PORT",
                  "is the port in use, or the address not one of this machine?");
    throw Error(ErrorKind::environment,
                "rank " + std::to_string(place.rank) + " cannot reach the master at " + master +
                    " within " + std::to_string(options.join.count() / 1000) +
                    " s: " + first_line(error),
                "MASTER_ADDR, MASTER_PORT", "is rank 0 running, and the port not blocked?");
  }
  join();
}

void Membership::allow(milliseconds time) {
  const std::lock_guard lock(mutex_);
  allowed_ = time + kGrace;
}

void Membership::end_guard() {
  {
    const std::lock_guard lock(mutex_);
    gone_ = true;
  }
  wake_.notify_all();
  guard_.join();
}

// Counts time in short pieces, so that a stop of this process does not look like silence of the
// others.
void Membership::guard() {
  std::unique_lock lock(mutex_);
  while (!gone_ && allowed_ > milliseconds::zero()) {
    const Clock::time_point before = Clock::now();
    wake_.wait_for(lock, options_.beat);
    const auto passed = std::chrono::duration_cast<milliseconds>(Clock::now() - before);
    allowed_ -= std::min(passed, 4 * options_.beat);
  }
  if (gone_) return;
  lock.unlock();
  on_lost_(Error(ErrorKind::round_failed,
                 std::string(place_.launcher_has_store ? "the launcher" : "rank 0") +
                     " has given no sign of life: its store does not answer",
                 "rank " + std::to_string(place_.rank),
                 "the log of the lost rank says why, unless its machine is gone"));
}

std::string Membership::key(const char* what, int rank) const {
  return std::string(what) + "/" + std::to_string(rank);
}

void Membership::join() {
  const Clock::time_point deadline = Clock::now() + options_.join;
  if (store_->add(key("claim", place_.rank), 1) != 1)
    throw Error(ErrorKind::environment,
                "another process is rank " + std::to_string(place_.rank) + " already", "RANK",
                "give every process its own rank, and every training its own MASTER_PORT");
  const std::string host = host_name();
  store_->set(key("terms", place_.rank), bytes(options_.terms));
  store_->set(key("joined", place_.rank), bytes(std::to_string(place_.world_size) + " " + host));
  if (place_.rank == 0) {
    std::vector<int> missing;
    for (int rank = 0; rank < place_.world_size; ++rank) missing.push_back(rank);
    while (!missing.empty()) {
      std::erase_if(missing, [&](int rank) { return store_->check({key("joined", rank)}); });
      if (missing.empty()) break;
      if (Clock::now() >= deadline) {
        refuse(std::to_string(missing.size()) + " of " + std::to_string(place_.world_size) +
                   " ranks did not appear: " + list(missing),
               "WORLD_SIZE", "start all ranks, and set WORLD_SIZE to their number");
      }
      std::this_thread::sleep_for(kPoll);
    }
    check_joined();
    store_->set("verdict", bytes(one_host_ ? "one host" : "ok"));
    return;
  }
  while (!store_->check({"verdict"})) {
    // Rank 0 decides at its own deadline, which may be slightly earlier or later.
    if (Clock::now() >= deadline + milliseconds(2000))
      throw Error(ErrorKind::environment,
                  "rank 0 did not let the training begin within " +
                      std::to_string(options_.join.count() / 1000) + " s",
                  "rank 0");
    std::this_thread::sleep_for(kPoll);
  }
  const std::string verdict = text(store_->get("verdict"));
  one_host_ = verdict == "one host";
  if (verdict != "ok" && !one_host_)
    throw Error(ErrorKind::environment, verdict, "rank 0", "see the message of rank 0");
}

void Membership::refuse(const std::string& problem, const std::string& where,
                        const std::string& advice) {
  store_->set("verdict", bytes(problem));
  std::this_thread::sleep_for(milliseconds(500));  // lets the others read it
  throw Error(ErrorKind::environment, problem, where, advice);
}

void Membership::check_joined() {
  one_host_ = true;
  const std::string own_host = host_name();
  for (int rank = 0; rank < place_.world_size; ++rank) {
    const std::string joined = text(store_->get(key("joined", rank)));
    const std::size_t space = joined.find(' ');
    if (joined.substr(0, space) != std::to_string(place_.world_size)) {
      refuse("rank " + std::to_string(rank) + " has WORLD_SIZE " + joined.substr(0, space) +
                 ", rank 0 has " + std::to_string(place_.world_size),
             "WORLD_SIZE", "start all ranks with the same WORLD_SIZE");
    }
    if (const auto [theirs, ours] =
            difference(text(store_->get(key("terms", rank))), options_.terms);
        theirs != ours)
      refuse("rank " + std::to_string(rank) + " has '" + printable(theirs) + "', rank 0 has '" +
                 printable(ours) + "'",
             "configuration", "start all ranks with the same workload and configuration");
    if (joined.substr(space + 1) != own_host) one_host_ = false;
  }
}

std::string Membership::name_of(int rank) {
  std::string name = "rank " + std::to_string(rank);
  try {
    if (store_->check({key("joined", rank)})) {
      const std::string joined = text(store_->get(key("joined", rank)));
      name += " on " + printable(joined.substr(joined.find(' ') + 1));
    }
  } catch (const std::exception&) {
    // The store is gone with rank 0, so the number must do.
  }
  return name;
}

// Rank 0 informs all ranks, so that they agree. Returns the description of the loss, or "".
std::string Membership::look_for_lost(c10d::Store& store) {
  if (store.check({"lost"})) return text(store.get("lost"));
  return {};
}

void Membership::watch() {
  struct Seen {
    std::int64_t beats = -1;
    Clock::time_point since;
    bool over = false;
  };
  std::vector<Seen> seen(static_cast<std::size_t>(place_.rank == 0 ? place_.world_size : 1));
  std::string lost;
  for (std::unique_lock lock(mutex_); !stop_; wake_.wait_for(lock, options_.beat)) {
    lock.unlock();
    try {
      watch_store_->add(key("beat", place_.rank), 1);
      for (std::size_t i = 0; i < seen.size() && lost.empty(); ++i) {
        const int rank = static_cast<int>(i);
        if (rank == place_.rank || seen[i].over) continue;
        const std::int64_t beats = watch_store_->add(key("beat", rank), 0);
        if (beats != seen[i].beats || seen[i].beats < 0) {
          seen[i] = {beats, Clock::now(), false};
        } else if (watch_store_->check({key("over", rank)})) {
          seen[i].over = true;
        } else if (Clock::now() - seen[i].since > options_.silence) {
          lost = name_of(rank) + " has given no sign of life for " +
                 std::to_string(options_.silence.count() / 1000) + " s";
          if (place_.rank == 0) watch_store_->set("lost", bytes(lost));
        }
      }
      if (lost.empty()) lost = look_for_lost(*watch_store_);
    } catch (const std::exception&) {
      lost = place_.launcher_has_store ? "the launcher's store is gone"
                                       : "rank 0 has ended: its store does not answer";
    }
    lock.lock();
    allowed_ = options_.silence + kGrace;
    if (lost.empty()) continue;
    allowed_ += kGrace + options_.diagnosis;
    // The failing operation usually ends the process with a better message.
    if (!wake_.wait_for(lock, kGrace + options_.diagnosis, [this] { return stop_; })) {
      lock.unlock();
      const auto waited =
          std::chrono::duration_cast<std::chrono::seconds>(kGrace + options_.diagnosis);
      on_lost_(Error(ErrorKind::round_failed,
                     lost + "; this rank has waited another " + std::to_string(waited.count()) +
                         " s for what it was doing to end",
                     "rank " + std::to_string(place_.rank),
                     "the log of the lost rank says why, unless its machine is gone"));
      lock.lock();
    }
    return;
  }
}

void Membership::report_failure(const std::string& message) noexcept {
  try {
    failed_ = true;
    store_->set(key("fault", place_.rank), bytes(message.substr(0, 400)));
    store_->set("lost", bytes(name_of(place_.rank) + " failed: " + message.substr(0, 400)));
  } catch (const std::exception&) {
    // Without a store the others will notice on their own.
  }
}

Error Membership::diagnose(const std::string& what) {
  const auto make = [&](const std::string& message) {
    return Error(ErrorKind::round_failed, message, "rank " + std::to_string(place_.rank),
                 "the log of the lost rank says why, unless its machine is gone");
  };
  failed_ = true;
  const Clock::time_point begin = Clock::now();
  try {
    // This rank leaves because of another and is not at fault.
    store_->set(key("over", place_.rank), bytes(kConsequence));
    std::vector<std::int64_t> first(static_cast<std::size_t>(place_.world_size), -1);
    const bool look = place_.rank == 0 || place_.launcher_has_store;
    if (look)
      for (int rank = 0; rank < place_.world_size; ++rank)
        first[static_cast<std::size_t>(rank)] = store_->add(key("beat", rank), 0);
    const auto enough = 4 * options_.beat + milliseconds(500);
    while (Clock::now() - begin < options_.diagnosis) {
      const std::string lost = look_for_lost(*store_);
      if (!lost.empty()) return make(lost);
      std::this_thread::sleep_for(kPoll);
      if (Clock::now() - begin < enough) continue;
      // Rank 0 watches all others, which watch only rank 0: it serves the store for a while after
      // it has left, and reports nothing about itself.
      for (int rank = 0; rank < (look ? place_.world_size : 1); ++rank) {
        if (rank == place_.rank) continue;
        if (store_->check({key("over", rank)})) {
          if (text(store_->get(key("over", rank))) != kLeft) continue;
          const std::string message = name_of(rank) + " has left the training before its end";
          store_->set("lost", bytes(message));
          return make(message);
        }
        if (!look || store_->add(key("beat", rank), 0) != first[static_cast<std::size_t>(rank)])
          continue;
        const std::string message = name_of(rank) + " has ended or does not answer";
        store_->set("lost", bytes(message));
        return make(message);
      }
    }
  } catch (const std::exception&) {
    return make(place_.launcher_has_store ? "the launcher's store is gone"
                                          : "rank 0 has ended: its store does not answer");
  }
  return make(what + ", though all ranks are alive");
}

Membership::~Membership() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  if (watcher_.joinable()) watcher_.join();
  allow(options_.silence + kFarewell);
  say_goodbye();
  end_guard();
}

void Membership::say_goodbye() noexcept {
  try {
    store_->set(key("over", place_.rank), bytes(failed_ ? kConsequence : kLeft));
    store_->set(key("gone", place_.rank), bytes("yes"));
    if (place_.rank != 0 || place_.launcher_has_store) return;
    // The others may still need the store; waiting for vanished ones is futile but short.
    const Clock::time_point deadline = Clock::now() + (failed_ ? kGrace : kFarewell);
    for (int rank = 1; rank < place_.world_size; ++rank)
      while (!store_->check({key("gone", rank)}) && Clock::now() < deadline)
        std::this_thread::sleep_for(kPoll);
  } catch (const std::exception&) {
    // Nobody is left to notify.
  }
}

}  // namespace assay::train
