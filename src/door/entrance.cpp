#include "door/entrance.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/json.h"
#include "core/run_layout.h"
#include "core/text.h"
#include "core/time.h"
#include "engine/execution_folder.h"
#include "store/journal.h"
#include "store/open_rounds.h"
#include "transfer/stream.h"

namespace assay::door {

using entry::Obstacle;

namespace {

// Room for what a login shell prints before the agent answers.
constexpr std::size_t kMaxBefore = 64U << 10;
constexpr Nanoseconds kToLeave = std::chrono::seconds(10);
// A connection to a node may fail briefly, because its sshd has many sessions to begin.
constexpr int kTries = 3;
constexpr Nanoseconds kBetweenTries = std::chrono::milliseconds(300);
constexpr Nanoseconds kBetweenCurves = std::chrono::seconds(5);
constexpr Nanoseconds kToBring = std::chrono::seconds(10);
// One that took longer to fail would take as long again.
constexpr Nanoseconds kQuickFailure = std::chrono::seconds(5);

Error no_answer(const std::string& why) {
  return {ErrorKind::launch, why};
}

// Reads up to the end of a line, and only what is available: the rest is not ours.
std::string take_piece(int fd, UniqueFd& passed) {
  std::array<char, 4096> buffer{};
  const ssize_t seen = ::recv(fd, buffer.data(), buffer.size(), MSG_PEEK | MSG_DONTWAIT);
  if (seen < 0 && (errno == EAGAIN || errno == EINTR)) return {};
  if (seen <= 0) throw WayLost();
  const auto* end =
      static_cast<const char*>(std::memchr(buffer.data(), '\n', static_cast<std::size_t>(seen)));
  const std::size_t wanted = end == nullptr ? static_cast<std::size_t>(seen)
                                            : static_cast<std::size_t>(end - buffer.data()) + 1;
  iovec text{buffer.data(), wanted};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &text;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  const ssize_t n = ::recvmsg(fd, &message, MSG_CMSG_CLOEXEC);
  if (n <= 0) throw WayLost();
  if (const cmsghdr* head = CMSG_FIRSTHDR(&message);
      head != nullptr && head->cmsg_level == SOL_SOCKET && head->cmsg_type == SCM_RIGHTS) {
    int handed = -1;
    std::memcpy(&handed, CMSG_DATA(head), sizeof handed);
    passed.reset(handed);
  }
  return {buffer.data(), static_cast<std::size_t>(n)};
}

std::string what_it_said(int fd) {
  std::string out(4096, '\0');
  pollfd ready{fd, POLLIN, 0};
  const ssize_t n = ::poll(&ready, 1, 200) > 0 ? ::read(fd, out.data(), out.size()) : 0;
  out.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
  return printable(trim(out));
}

}  // namespace

WayLost::WayLost() : Error(ErrorKind::launch, "the agent has ended without a word") {}

Answered read_answer(int stream, Nanoseconds limit) {
  const std::int64_t deadline = mono_now_ns() + limit.count();
  Answered out;
  std::string line;
  for (std::size_t before = 0; before < kMaxBefore;) {
    const std::int64_t left_ms = (deadline - mono_now_ns()) / 1'000'000;
    if (left_ms <= 0) throw no_answer("the agent does not answer");
    pollfd ready{stream, POLLIN, 0};
    if (::poll(&ready, 1, static_cast<int>(std::min<std::int64_t>(left_ms, 1000))) <= 0) continue;
    const std::string piece = take_piece(stream, out.passed);
    before += piece.size();
    line += piece;
    if (!line.ends_with('\n')) continue;
    // A banner may end without a newline.
    if (const auto at = line.find(entry::kAnswerMark); at != std::string::npos) {
      const Json json =
          parse_json_or_null(trim(std::string_view(line).substr(at + entry::kAnswerMark.size())));
      if (!json.is_object()) throw no_answer("the agent answers with something else");
      out.answer = fields_from_json<entry::NodeAnswer>(json, "answer");
      return out;
    }
    line.clear();
  }
  throw no_answer("the agent answers with something else");
}

/// A running command, kept until its stream is no longer needed.
struct Entrance::Agent {
  Agent(Entrance& of, Child with) : entrance(of), child(std::move(with)) {}
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;
  ~Agent() { entrance.leave(std::move(child)); }
  Entrance& entrance;
  Child child;
};

Entrance::Entrance(platform::Platform& platform)
    : platform_(platform), collector_([this](const std::stop_token& stop) { collect(stop); }) {}

// Agents whose streams have ended end what they started, so they are not killed at once.
Entrance::~Entrance() {
  collector_.request_stop();
  collector_.join();
  const std::int64_t deadline = mono_now_ns() + Nanoseconds(std::chrono::seconds(4)).count();
  while (!leaving_.empty() && mono_now_ns() < deadline) {
    std::erase_if(leaving_, [](Leaving& one) { return one.child.poll().has_value(); });
    ::poll(nullptr, 0, 20);
  }
}

void Entrance::leave(Child child) {
  const std::scoped_lock lock(lock_);
  leaving_.push_back({std::move(child), mono_now_ns() + kToLeave.count()});
}

// An agent ends with its stream, after ending what it started; this allows it some time.
void Entrance::collect(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    std::list<Leaving> overdue;
    {
      const std::scoped_lock lock(lock_);
      for (auto one = leaving_.begin(); one != leaving_.end();) {
        const auto next = std::next(one);
        if (one->child.poll())
          leaving_.erase(one);
        else if (mono_now_ns() > one->kill_at_ns)
          overdue.splice(overdue.end(), leaving_, one);
        one = next;
      }
    }
    overdue.clear();
    ::poll(nullptr, 0, 100);
  }
}

// The job has not been asked for anything yet, so another try repeats nothing.
Passage Entrance::start(const engine::Way& way, Nanoseconds limit) {
  const std::int64_t deadline = mono_now_ns() + limit.count();
  for (int tries = 1;; ++tries) {
    const std::int64_t begun_ns = mono_now_ns();
    const bool last =
        tries == kTries || deadline - begun_ns < (kQuickFailure + kBetweenTries).count();
    try {
      return start_once(way, Nanoseconds(deadline - begun_ns), last);
    } catch (const WayLost&) {
      ::poll(nullptr, 0, static_cast<int>(kBetweenTries / std::chrono::milliseconds(1)));
    }
  }
}

// Throws WayLost only after a quick failure that was not the `last` try.
Passage Entrance::start_once(const engine::Way& way, Nanoseconds limit, bool last) {
  const std::int64_t begun_ns = mono_now_ns();
  std::array<int, 2> pair{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()) != 0)
    throw system_error(ErrorKind::environment, "cannot make a stream", "", errno);
  UniqueFd ours(pair[0]);
  UniqueFd theirs(pair[1]);
  auto agent = std::make_shared<Agent>(*this, spawn({.argv = way.argv,
                                                     .in = Stream::descriptor(theirs.get()),
                                                     .out = Stream::descriptor(theirs.get()),
                                                     .err = Stream::pipe(),
                                                     .group = Group::session,
                                                     .dies_with_parent = false}));
  theirs.reset();
  Answered answered;
  try {
    answered = read_answer(ours.get(), limit);
  } catch (const Error& error) {
    if (!last && dynamic_cast<const WayLost*>(&error) != nullptr &&
        mono_now_ns() - begun_ns < kQuickFailure.count())
      throw;
    const std::string said = what_it_said(agent->child.err.get());
    throw Closed{Obstacle::failed, "the node cannot be entered: " + error.message(), said};
  }
  // Its later output is for nobody, but must not block it.
  agent->child.err.reset();
  if (answered.answer.obstacle != Obstacle::none)
    throw Closed{answered.answer.obstacle, printable(answered.answer.words),
                 answered.answer.detail};
  Passage out;
  if (answered.passed) {
    out.stream = std::move(answered.passed);
  } else {
    out.stream = std::move(ours);
    out.agent = std::move(agent);
  }
  out.have = std::move(answered.answer.have);
  ::fcntl(out.stream.get(), F_SETFL, ::fcntl(out.stream.get(), F_GETFL) | O_NONBLOCK);
  return out;
}

void Entrance::bring_curves(jobs::JobId job, const std::string& host, entry::NodeRequest request,
                            bool first) noexcept {
  try {
    const std::int64_t now_ns = mono_now_ns();
    {
      const std::scoped_lock lock(lock_);
      const auto known = curves_ns_.find(job);
      if (known == curves_ns_.end() ? !first : now_ns - known->second < kBetweenCurves.count())
        return;
      std::erase_if(curves_ns_, [&](const auto& one) {
        return now_ns - one.second > Nanoseconds(std::chrono::hours(1)).count();
      });
      curves_ns_[job] = now_ns;
    }
    // run/RUN of the attempt, where the controller writes them while the run goes on.
    const std::filesystem::path attempt = platform_.run_of(job).parent_path().parent_path();
    const std::filesystem::path folder = engine::ExecutionFolder(attempt).tensorboard();
    request.wanted = entry::Wanted::curves;
    request.pass = false;
    const engine::Way way =
        platform_.enter(job, host, {"--enter", dump_line(fields_to_json(request))});
    const Passage passage = start(way, kToBring);
    const transfer::Have have(passage.have.begin(), passage.have.end());
    transfer::send_folder(folder, have, passage.stream.get(), UINT64_MAX, kToBring);
    ::shutdown(passage.stream.get(), SHUT_WR);
    // Until they are there.
    pollfd ended{passage.stream.get(), POLLIN, 0};
    ::poll(&ended, 1, static_cast<int>(kToBring / std::chrono::milliseconds(1)));
  } catch (const Closed&) {
    return;
  } catch (const std::exception&) {
    return;
  }
}

Passage Entrance::open(jobs::JobId job, std::optional<int> rank, entry::NodeRequest request,
                       Nanoseconds limit) {
  try {
    const std::filesystem::path run = platform_.run_of(job);
    const auto round = run.empty()
                           ? std::nullopt
                           : store::running_round(store::Journal::read(run / layout::kJournal));
    if (!round || round->ranks.empty())
      throw Closed{Obstacle::no_round,
                   fmt::format("job {} has no programs that run at the moment", job)};
    const auto found = rank ? round->find(*rank) : std::optional(round->ranks.front());
    if (!found)
      throw Closed{Obstacle::no_round, fmt::format("rank {} of job {} does not run", *rank, job)};
    request.round = round->id;
    request.pid = found->pid;
    const bool connects =
        request.wanted == entry::Wanted::port || request.wanted == entry::Wanted::service;
    request.pass = connects;
    const auto way = [&] {
      return platform_.enter(job, found->host, {"--enter", dump_line(fields_to_json(request))});
    };
    engine::Way into = way();
    if (connects && !into.here) {
      request.pass = false;
      into = way();
    }
    if (into.argv.empty())
      throw Closed{Obstacle::failed, "there is no way into jobs on this cluster"};
    Passage passage = start(into, limit);
    // To a service that runs: it looks for new ones by itself.
    if (request.wanted == entry::Wanted::service && request.service == entry::kShowsCurves)
      bring_curves(job, found->host, request, request.start);
    return passage;
  } catch (const Error& error) {
    throw Closed{error.kind() == ErrorKind::usage ? Obstacle::no_round : Obstacle::failed,
                 printable(error.message())};
  }
}

}  // namespace assay::door
