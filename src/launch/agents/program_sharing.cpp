#include "launch/agents/program_sharing.h"

#include <algorithm>

#include <asio/co_spawn.hpp>
#include <asio/post.hpp>
#include <asio/redirect_error.hpp>
#include <asio/use_awaitable.hpp>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "core/error.h"
#include "core/overloaded.h"
#include "core/secret_token.h"
#include "core/sha256.h"
#include "core/text.h"
#include "core/time.h"
#include "core/units.h"
#include "launch/agents/fleet.h"
#include "launch/run_on_thread.h"

namespace assay::launch {

namespace {

using agent::FetchFault;

constexpr std::uint64_t kPieceBytes = 1 << 20;
// To connect, unpack and answer, besides moving the bytes.
constexpr Nanoseconds kStepBase = std::chrono::seconds(30);
// An agent says by itself when its fetch takes too long.
constexpr Nanoseconds kAnswerReserve = std::chrono::seconds(10);
constexpr Nanoseconds kOfferAnswer = std::chrono::seconds(10);
constexpr Nanoseconds kBetweenLooks = std::chrono::seconds(1);

}  // namespace

agent::FileContent content_of(const std::filesystem::path& file, std::uint64_t piece_bytes) {
  const UniqueFd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) throw system_error(ErrorKind::environment, "cannot read", file.string(), errno);
  agent::FileContent out{0, piece_bytes, {}};
  std::vector<char> buffer(static_cast<std::size_t>(piece_bytes));
  for (;;) {
    std::size_t n = 0;
    while (n < buffer.size()) {
      const ssize_t got = ::read(fd.get(), buffer.data() + n, buffer.size() - n);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) throw system_error(ErrorKind::environment, "cannot read", file.string(), errno);
      if (got == 0) break;
      n += static_cast<std::size_t>(got);
    }
    if (n == 0) return out;
    out.size += n;
    out.pieces.push_back(sha256({buffer.data(), n}));
  }
}

namespace {

std::set<int> keys_of(const std::map<int, Launcher::MissingPrograms>& missing) {
  std::set<int> out;
  for (const auto& [node, programs] : missing) out.insert(node);
  return out;
}

}  // namespace

ProgramSharing::ProgramSharing(asio::io_context& loop, Fleet& fleet,
                               std::map<int, Launcher::MissingPrograms> missing,
                               std::function<void(const std::string&)> progress)
    : loop_(loop),
      fleet_(fleet),
      missing_(std::move(missing)),
      progress_(std::move(progress)),
      plan_(keys_of(missing_)),
      changed_(loop) {}

ProgramSharing::~ProgramSharing() {
  *alive_ = false;
  for (auto& [node, step] : installs_)
    if (step.channel) step.channel->silence();
}

// 1 MiB a second over a slow link.
Nanoseconds ProgramSharing::transfer_limit() const {
  return kStepBase + std::chrono::seconds(bundle().size >> 20);
}

bool ProgramSharing::over() const {
  return plan_.done() && installs_.empty() && offers_.empty();
}

asio::awaitable<std::map<int, std::string>> ProgramSharing::run(const bool& abandoned) {
  // Made here: GCC 12 destroys what a lambda in an awaited expression holds twice.
  const auto read = [this] { content_ = content_of(bundle().file, kPieceBytes); };
  co_await run_on_thread(read);
  record_.size = content_.size;
  while (!over() && !abandoned) {
    for (const SharingPlan::Order& order : plan_.next()) begin(order);
    check_deadlines();
    keep_notices();
    if (over()) break;
    if (progress_) progress_(describe());
    changed_.expires_after(kBetweenLooks);
    asio::error_code ec;
    co_await changed_.async_wait(asio::redirect_error(asio::use_awaitable, ec));
  }
  for (const auto& [node, programs] : missing_)
    if (fleet_.present(node)) fleet_.send(node, agent::WithdrawFileRequest{programs.part});
  for (auto& [node, step] : installs_)
    if (step.channel) {
      step.channel->silence();
      co_await step.channel->kill();
    }
  installs_.clear();
  for (const auto& [node, why] : plan_.given_up()) problems_.emplace(node, why);
  co_return problems_;
}

void ProgramSharing::begin(const SharingPlan::Order& order) {
  if (order.from == SharingPlan::kController)
    install(order.to);
  else
    fetch(order.to, order.from);
}

void ProgramSharing::fetch(int node, int from) {
  const Place& place = places_.at(from);
  fetches_[node] = {mono_now_ns() + (transfer_limit() + kAnswerReserve).count()};
  fleet_.send(node, agent::FetchFileRequest{missing_.at(node).part, content_, place.address,
                                            place.port, place.token, transfer_limit()});
}

// Asks for what is not there of the file, which is all or nothing but after a transfer that broke.
void ProgramSharing::install(int node) {
  Step step{mono_now_ns() + transfer_limit().count()};
  Channel::Handlers handlers{
      [this, node](int, const Json& message) {
        const auto found = installs_.find(node);
        if (found != installs_.end() && message.value("type", "") == kInstalled)
          found->second.installed = true;
      },
      [this, node](const std::string& how) { installed(node, how); }};
  try {
    step.channel = Channel::open(loop_, missing_.at(node).install, std::move(handlers));
  } catch (const Error& error) {
    return fail(node, FetchFault::own, error.what());
  }
  installs_[node] = std::move(step);
}

void ProgramSharing::installed(int node, const std::string& how) {
  const auto found = installs_.find(node);
  if (found == installs_.end()) return;
  const bool good = found->second.installed;
  const Channel::Upload& upload = found->second.channel->upload();
  if (upload.size > 0) {
    const std::uint64_t bytes = upload.sent - upload.from;
    record_.controller_bytes += bytes;
    record_.hosts.push_back({fleet_.host(node), {}, bytes});
  }
  end_step(node);
  const bool ordered = plan_.source(node) == SharingPlan::kController;
  if (good) {
    ready_.insert(node);
    if (ordered) offer(node);
  } else if (ordered) {
    plan_.failed(node, FetchFault::own, how);
  } else {
    problems_[node] = how;
  }
  wake();
}

// Its channel, which may be what calls this, goes when the loop has left it.
void ProgramSharing::end_step(int node) {
  const auto found = installs_.find(node);
  if (found == installs_.end()) return;
  asio::post(loop_, [channel = found->second.channel] {});
  installs_.erase(found);
}

void ProgramSharing::offer(int node) {
  const std::string& address = fleet_.identity(node).address;
  if (address.empty() || !plan_.others_need_it(node)) {
    plan_.arrived(node, false);
    return;
  }
  places_[node] = {address, 0, make_token()};
  offers_[node] = mono_now_ns() + kOfferAnswer.count();
  // As long as everybody may need, one after the other.
  const Nanoseconds limit = transfer_limit() * static_cast<int>(missing_.size() + 1);
  fleet_.send(node, agent::OfferFileRequest{missing_.at(node).part, bundle().size, address,
                                            places_[node].token, limit});
}

void ProgramSharing::on_offered(int node, const agent::FileOffered& offered) {
  offers_.erase(node);
  const bool good = offered.problem.empty() && offered.port > 0;
  if (good) places_[node].port = offered.port;
  plan_.arrived(node, good);
  wake();
}

void ProgramSharing::on_fetched(int node, const agent::FileFetched& fetched) {
  const auto from = plan_.source(node);
  if (fetches_.erase(node) == 0 || !from) return;
  record_.host_bytes += fetched.moved;
  record_.hosts.push_back({fleet_.host(node), fleet_.host(*from), fetched.moved});
  if (fetched.fault != FetchFault::none) {
    plan_.failed(node, fetched.fault, fetched.problem);
  } else {
    offer(node);
    install(node);
  }
  wake();
}

void ProgramSharing::report(int node, const agent::Report& report) {
  if (!missing_.contains(node)) return;
  std::visit(Overloaded{[&](const agent::FileFetched& fetched) { on_fetched(node, fetched); },
                        [&](const agent::FileOffered& offered) {
                          if (offers_.contains(node)) on_offered(node, offered);
                        },
                        [&](const agent::FetchProgress& progress) {
                          if (const auto found = fetches_.find(node); found != fetches_.end())
                            found->second.have = progress.have;
                        },
                        [&](const agent::Refusal& refusal) {
                          if (fetches_.contains(node))
                            fail(node, FetchFault::own, refusal.reason);
                          else if (offers_.contains(node))
                            on_offered(node, {0, refusal.reason});
                        },
                        [](const auto&) {}},
             report);
}

void ProgramSharing::fail(int node, FetchFault fault, const std::string& reason) {
  fetches_.erase(node);
  if (plan_.source(node))
    plan_.failed(node, fault, reason);
  else
    problems_[node] = reason;
  wake();
}

void ProgramSharing::lost(int node, const std::string& reason) {
  if (!missing_.contains(node)) return;
  fetches_.erase(node);
  offers_.erase(node);
  plan_.lost(node, reason);
  problems_[node] = reason;
  if (const auto found = installs_.find(node); found != installs_.end()) {
    found->second.channel->silence();
    asio::co_spawn(loop_, found->second.channel->kill(),
                   [channel = found->second.channel](const std::exception_ptr&) {});
    installs_.erase(found);
  }
  wake();
}

void ProgramSharing::check_deadlines() {
  const std::int64_t now_ns = mono_now_ns();
  const std::string late = "not there within " + format_duration(transfer_limit());
  // Copies: what is done below changes the maps.
  for (const auto& [node, step] : std::map(fetches_))
    if (now_ns > step.deadline_ns) fail(node, FetchFault::own, late);
  for (const auto& [node, deadline_ns] : std::map(offers_))
    if (now_ns > deadline_ns) on_offered(node, {0, "it does not answer"});
  for (const auto& [node, step] : std::map(installs_)) {
    if (now_ns <= step.deadline_ns) continue;
    step.channel->silence();
    asio::co_spawn(loop_, step.channel->kill(),
                   [channel = step.channel](const std::exception_ptr&) {});
    installed(node, late);
  }
}

void ProgramSharing::keep_notices() {
  for (const SharingPlan::Notice& notice : plan_.take_notices()) {
    using enum SharingPlan::Notice::Kind;
    const std::string source = fleet_.host(notice.source);
    const std::string seen = fleet_.host(notice.told_by) + ": " + notice.reason;
    switch (notice.kind) {
      case damaged:
        record_.notices.push_back(source + " passed on programs that were damaged (" + seen +
                                  "); nobody takes them from there any more");
        break;
      case unreliable:
        record_.notices.push_back(source + " does not pass the programs on (" + seen + ")");
        break;
      case unreachable:
        record_.notices.push_back("other hosts do not reach " + source + " (" + seen + ")");
        break;
      case apart:
        record_.notices.push_back("the hosts do not reach each other (" + source + " from " + seen +
                                  "); the controller sends the programs to each of them");
        break;
    }
  }
}

std::string ProgramSharing::describe() const {
  double have = 0;
  const auto size = static_cast<double>(content_.size);
  for (const auto& [node, programs] : missing_) {
    if (ready_.contains(node)) {
      have += size;
    } else if (const auto found = installs_.find(node); found != installs_.end()) {
      const Channel::Upload& upload = found->second.channel->upload();
      have += upload.size > 0 ? static_cast<double>(upload.sent) : 0;
    } else if (const auto fetching = fetches_.find(node); fetching != fetches_.end()) {
      have += static_cast<double>(fetching->second.have);
    }
  }
  return fmt::format("programs for {}: {:.0f} % of {}", counted(missing_.size(), "host"),
                     100 * have / (size * static_cast<double>(missing_.size())),
                     format_bytes(size * static_cast<double>(missing_.size())));
}

}  // namespace assay::launch
