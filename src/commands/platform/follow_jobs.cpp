#include "commands/platform/follow_jobs.h"

#include <algorithm>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include <fmt/format.h>
#include <poll.h>

#include "client/job_outcome.h"
#include "commands/base/terminal.h"
#include "commands/platform/job_display.h"
#include "core/error.h"
#include "core/json_access.h"
#include "core/parse_number.h"
#include "core/text.h"
#include "core/time.h"

namespace assay::commands {

namespace {

constexpr int kStoppedExit = 130;  ///< as a shell says of a command that Ctrl-C ended
constexpr Nanoseconds kPatience = std::chrono::minutes(5);
// For the last lines of a job that has ended.
constexpr Nanoseconds kToTheEnd = std::chrono::seconds(10);

/// Wakes who waits when the server has news of jobs. Without its stream, every second counts.
class News {
 public:
  explicit News(const client::Client& client)
      : thread_([this, &client](const std::stop_token& done) {
          try {
            client.watch(done, [this](const client::JobNews&) {
              const std::lock_guard lock(mutex_);
              fresh_ = true;
              wake_.notify_all();
            });
          } catch (const Error&) {
            // The jobs are asked for all the same.
          }
        }) {}

  void wait(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    (void)wake_.wait_for(lock, stop, std::chrono::seconds(1), [this] { return fresh_; });
    fresh_ = false;
  }

 private:
  std::mutex mutex_;
  std::condition_variable_any wake_;
  bool fresh_ = false;
  std::jthread thread_;  ///< last: it uses the others
};

/// Does what may fail while the server is away.
class Patience {
 public:
  explicit Patience(std::stop_token stop) : stop_(std::move(stop)) {}

  template <class F>
  void try_to(F&& f) {
    try {
      f();
      failed_since_ns_ = 0;
    } catch (const Error& error) {
      if (stop_.stop_requested()) return;
      if (error.kind() != ErrorKind::launch) throw;
      note(error);
    }
  }

 private:
  void note(const Error& error) {
    const std::int64_t now_ns = mono_now_ns();
    if (failed_since_ns_ == 0) {
      failed_since_ns_ = now_ns;
      tell_error(fmt::format("assay: the server is away, trying again: {}\n", error.message()));
    }
    if (now_ns - failed_since_ns_ > kPatience.count()) throw error;
  }

  std::stop_token stop_;
  std::int64_t failed_since_ns_ = 0;
};

/// Prints the lines that have come since.
class JobLog {
 public:
  JobLog(const client::Client& client, jobs::JobId id, const LogOptionsOfJob& options)
      : client_(client), id_(id), options_(options) {}

  /// Of the attempt that the job is in now; first, to their ends, of those that it was in before.
  /// Of a job that has ended: to its end. One that has no run yet has nothing.
  void print(const client::JobDetails& job, const std::stop_token& stop) {
    const auto last = options_.attempt ? std::int64_t{*options_.attempt} : job.attempt;
    if (attempt_ == 0) attempt_ = last;
    for (; attempt_ < last && !stop.stop_requested(); ++attempt_) {
      if_it_ran([&] { print_rest(stop); });
      next_ = 0;
      place_.clear();
    }
    if (job.row.state.is_final())
      print_rest(stop);
    else if (last <= job.attempt)
      if_it_ran([&] { (void)print_new(); });
    else
      (void)print_new();  // or it says that there is no such attempt
  }

  /// True: nothing more will come.
  bool print_new() {
    while (true) {
      client::LogQuery query;
      query.from = next_;
      query.after = place_;
      query.rank = options_.rank;
      query.attempt = attempt_ > 0 ? std::optional(static_cast<int>(attempt_)) : options_.attempt;
      const client::Answer<client::LogPage> answer = client_.log(id_, query);
      const client::LogPage& page = answer.value;
      if (options_.json)
        for (const Json& line : list_at(answer.json, "lines")) say(dump_line(line) + "\n");
      else
        for (const client::LogLine& line : page.lines) say_line(line);
      const bool more = !page.place.empty() ? page.next <= page.total : page.next > next_;
      next_ = page.next;
      place_ = page.place;
      if (!more) return page.ended;
    }
  }

 private:
  /// A server looks at a run now and then, so that what it has may be from before its end.
  void print_rest(const std::stop_token& stop) {
    const std::int64_t give_up_ns = mono_now_ns() + kToTheEnd.count();
    while (!print_new() && !stop.stop_requested() && mono_now_ns() < give_up_ns)
      ::poll(nullptr, 0, 100);
  }
  template <class F>
  static void if_it_ran(F&& f) {
    try {
      f();
    } catch (const client::Refused& refused) {
      if (refused.code() != "no_run") throw;
    }
  }
  void say_line(const client::LogLine& line) const {
    const bool named = options_.rank == "all" && !line.rank.empty();
    say((named ? "[" + printable(line.rank) + "] " : "") + printable(line.text) + "\n");
  }

  const client::Client& client_;
  jobs::JobId id_;
  const LogOptionsOfJob& options_;
  std::int64_t attempt_ = 0;  // that is printed; 0: none yet
  std::int64_t next_ = 0;
  std::string place_;
};

// Of a suite only its cases know.
void refuse_unknown_rank(const client::JobDetails& job, const std::string& asked) {
  const auto rank = parse_number<int>(asked, 0);
  const jobs::Submission& submission = job.submission;
  const auto ranks = std::int64_t{submission.nodes} * submission.procs;
  if (!submission.suite.empty() || !rank || *rank < ranks) return;
  throw Error(ErrorKind::usage, fmt::format("job {} has no rank {}", job.row.id, *rank), "--rank",
              ranks == 1 ? "it has one rank: 0" : fmt::format("its ranks are 0 to {}", ranks - 1));
}

// In large parts: a log of a million lines takes seconds.
void print_whole_log(const client::Client& client, jobs::JobId id, const LogOptionsOfJob& options,
                     const std::stop_token& stop) {
  client::LogQuery query;
  query.rank = options.rank;
  query.attempt = options.attempt;
  std::string from;
  while (!stop.stop_requested()) {
    const client::LogText part = client.log_text(id, query, from);
    std::string out;
    for (std::string_view rest = part.text; !rest.empty();) {
      const std::string_view line = rest.substr(0, rest.find('\n'));
      out.append(printable(line));
      rest.remove_prefix(line.size());
      if (rest.empty()) break;  // the line goes on in the next part
      out += '\n';
      rest.remove_prefix(1);
    }
    say(out);
    if (part.next.empty()) return;
    from = part.next;
  }
}

// What speaks against the run, the worst first.
void say_findings(const client::Client& client, jobs::JobId id) {
  constexpr std::size_t kShown = 5;
  std::vector<std::string> lines;
  const auto add = [&](const Json& of, const std::string& where) {
    for (const Json& finding : list_at(of, "findings"))
      if (const std::string severity = text_at(finding, "severity");
          severity != "note" && !severity.empty())
        lines.push_back(where + text_at(finding, "reason"));
  };
  const Json result = client.result(id);
  add(result, "");
  for (const Json& one : list_at(result, "cases")) {
    const std::string name = text_at(one, "name") + ": ";
    add(one, name);
    for (const Json& round : list_at(one, "rounds"))
      add(round, name + fmt::format("round {}: ", integer_at(round, "round", 0)));
  }
  for (std::size_t i = 0; i < lines.size() && i < kShown; ++i)
    tell_error(fmt::format("assay: job {}: {}\n", id, printable(lines[i])));
  if (lines.size() > kShown)
    tell_error(fmt::format("assay: job {}: {} more in its report\n", id, lines.size() - kShown));
}

std::string status_line(const client::JobRow& job) {
  std::string line = fmt::format("job {} is {}", job.id, printable(job.state.text));
  if (job.verdict != jobs::Verdict::none) line += fmt::format(", {}", to_text(job.verdict));
  // The estimate moves with every decision: only the reason is news.
  if (const std::string why = shown_wait(job.pending, job.place, {}); !why.empty())
    line += ": " + why;
  return line;
}

}  // namespace

int follow_jobs(const client::Client& client, const std::vector<jobs::JobId>& ids,
                const std::stop_token& stop) {
  News news(client);
  Patience patience(stop);
  std::map<jobs::JobId, std::string> said;
  std::map<jobs::JobId, int> outcomes;
  const LogOptionsOfJob all;
  JobLog log(client, ids.front(), all);
  bool has_log = ids.size() == 1;
  while (outcomes.size() < ids.size() && !stop.stop_requested()) {
    for (const jobs::JobId id : ids) {
      if (outcomes.contains(id)) continue;
      patience.try_to([&] {
        const client::JobDetails job = client.job(id).value;
        const bool has_run = job.row.state.is(jobs::State::running) || job.row.state.is_final();
        if (has_log && has_run) {
          try {
            log.print(job, stop);
          } catch (const client::Refused& refused) {
            if (refused.kind() != ErrorKind::usage) throw;
            // Never of a job that did not begin.
          }
        }
        if (std::string line = status_line(job.row); said[id] != line) {
          tell_error(fmt::format("assay: {}\n", line));
          said[id] = std::move(line);
        }
        if (!job.row.state.is_final()) return;
        outcomes[id] = client::outcome_of(job.row);
        if (outcomes[id] != 0 && !job.message.empty())
          tell_error(fmt::format("assay: job {}: {}\n", id, printable(job.message)));
        if (job.row.verdict == jobs::Verdict::invalid ||
            job.row.verdict == jobs::Verdict::incomplete)
          say_findings(client, id);
      });
    }
    if (outcomes.size() < ids.size()) news.wait(stop);
  }
  if (outcomes.size() < ids.size()) {
    tell_error("assay: no longer followed; what was submitted goes on\n");
    return kStoppedExit;
  }
  int worst = 0;
  for (const auto& [id, outcome] : outcomes) worst = std::max(worst, outcome);
  return worst;
}

int print_job_log(const client::Client& client, jobs::JobId id, const LogOptionsOfJob& options,
                  const std::stop_token& stop) {
  if (options.rank != "all") refuse_unknown_rank(client.job(id).value, options.rank);
  if (!options.follow) {
    if (options.json)
      (void)JobLog(client, id, options).print_new();
    else
      print_whole_log(client, id, options, stop);
    return stop.stop_requested() ? kStoppedExit : 0;
  }
  JobLog log(client, id, options);
  News news(client);
  Patience patience(stop);
  while (!stop.stop_requested()) {
    bool ended = false;
    patience.try_to([&] {
      // The state first: what was written before it is then in the log.
      const client::JobDetails job = client.job(id).value;
      ended = job.row.state.is_final();
      if (ended || job.row.state.is(jobs::State::running)) log.print(job, stop);
    });
    if (ended) return 0;
    news.wait(stop);
  }
  return kStoppedExit;
}

}  // namespace assay::commands
