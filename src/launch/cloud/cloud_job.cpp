#include "launch/cloud/cloud_job.h"

#include <algorithm>
#include <fstream>

#include <fmt/format.h>

#include "core/error.h"
#include "core/files.h"
#include "core/run_layout.h"
#include "core/secrets.h"
#include "core/units.h"
#include "http/retry.h"
#include "launch/cloud/result_files.h"
#include "launch/round_folder.h"
#include "store/journal_records.h"

namespace assay::launch {

namespace fs = std::filesystem;

namespace {

JobMachine::Now clocks() {
  return {mono_now_ns(), boot_now_ns(), wall_now_ns()};
}

}  // namespace

CloudJob::CloudJob(Context context, const plan::CasePlan& plan_case, int round)
    : context_(std::move(context)),
      case_(plan_case),
      round_(round),
      folder_(context_.run.round_dir(plan_case.name, round)),
      machine_({plan_case.nodes, plan_case.procs, plan_case.limits, context_.options,
                "cluster." + context_.run.plan().cluster.launcher(), service().tells_every_log(),
                service().started_field()}),
      retry_(plan_case.limits.time, context_.options.poll, std::chrono::seconds(30), context_.asked,
             context_.waiting) {}

RoundOutcome CloudJob::run() {
  try {
    Actions todo{.next = JobMachine::Do::prepare};
    while (todo.next != JobMachine::Do::end) {
      todo = perform(todo);
      apply(todo);
    }
    return todo.outcome;
  } catch (const Error&) {
    if (machine_.goes_on())
      context_.warning(named() + " (" + machine_.state().id +
                       ") goes on in the cloud; follow it again with --resume");
    throw;
  }
}

void CloudJob::apply(const Actions& todo) {
  for (const JobMachine::JournalEntry& entry : todo.journal) journal(entry);
  if (todo.save) save_job_state(folder_, machine_.state());
  if (todo.executed) journal_executed();
  if (!todo.waiting.empty()) context_.waiting(todo.waiting);
  if (!todo.warning.empty()) context_.warning(todo.warning);
  if (todo.progress) context_.progress(*todo.progress);
  if (todo.error) throw Error(*todo.error);
}

JobMachine::Actions CloudJob::perform(const Actions& todo) {
  try {
    return answer(todo);
  } catch (const Interrupted&) {
    return machine_.interrupted(clocks());
  } catch (const Error& e) {
    return machine_.failed(clocks(), e);
  }
}

JobMachine::Actions CloudJob::answer(const Actions& todo) {
  using Do = JobMachine::Do;
  const std::string& id = machine_.state().id;
  switch (todo.next) {
    case Do::prepare:
      return prepare();
    case Do::find: {
      const auto found = request(todo, "looking for " + named(), [&](const std::stop_token& stop) {
        return service().find(job(), stop);
      });
      return machine_.found(clocks(), found);
    }
    case Do::list_code:
      return list_code();
    case Do::upload:
      return upload(todo);
    case Do::create:
      return create(todo);
    case Do::ask: {
      const ServiceJob told =
          request(todo, "asking about " + named(),
                  [&](const std::stop_token& stop) { return service().get(id, stop); });
      return machine_.told(clocks(), told);
    }
    case Do::size_logs: {
      auto sizes =
          request(todo, "reading the logs of " + named(), [&](const std::stop_token& stop) {
            return service().log_sizes(job(), machine_.seen(), stop);
          });
      return machine_.log_sizes(clocks(), std::move(sizes));
    }
    case Do::read_log:
      return read_log(todo);
    case Do::compare:
      return compare_log(todo);
    case Do::pause:
      if (!http::pause_unless_stopped(todo.pause, user(todo)) && !todo.insists) throw Interrupted{};
      return machine_.tick(clocks());
    case Do::fetch:
      return fetch(todo);
    case Do::measure: {
      const TimedStop end(context_.asked, Nanoseconds(todo.end_ns - mono_now_ns()));
      return machine_.measured(service().device_utilization(id, case_.nodes, end.token()));
    }
    case Do::stop:
      request(todo, "", [&](const std::stop_token& stop) { service().stop(id, stop); });
      return machine_.stopped(clocks());
    case Do::end:
      break;
  }
  return todo;
}

JobMachine::Actions CloudJob::prepare() {
  JobState state;
  const auto known = load_job_state(folder_);
  const bool again = known && !known->over;
  if (again) {
    state = *known;
  } else {
    const int attempt = set_aside(context_.run, case_, round_);
    state.name = job_name(context_.options, context_.run.plan(), case_, round_, attempt);
    for (int node = 0; node < case_.nodes; ++node) state.mirrored[node] = 0;
    state.sync_start_ns = wall_now_ns();
  }
  Actions todo = machine_.prepared(clocks(), state, again);
  // What was written after the state was saved is fetched again.
  for (const auto& [node, bytes] : state.mirrored) {
    make_directories(log_file(node).parent_path());
    std::ofstream(log_file(node), std::ios::app).close();
    std::error_code ec;
    const std::uint64_t size = fs::file_size(log_file(node), ec);
    const std::uint64_t kept = state.earlier[node] + bytes;
    if (!ec && size > kept) fs::resize_file(log_file(node), kept, ec);
    if (ec)
      throw system_error(ErrorKind::environment, "the log cannot be gone on with",
                         log_file(node).string(), ec.value());
  }
  return todo;
}

JobMachine::Actions CloudJob::list_code() {
  code_ = code_files();
  hash_ = cloud::hash_of(code_);
  std::uint64_t bytes = 0;
  for (const auto& [name, path] : code_) {
    std::error_code ec;
    if (const auto size = fs::file_size(path, ec); !ec) bytes += size;
  }
  return machine_.listed(hash_, code_.size(), bytes);
}

JobMachine::Actions CloudJob::upload(const Actions& todo) {
  const std::string what = "uploading the code";
  const cloud::SyncReport report = request(todo, what, [&](const std::stop_token& stop) {
    return cloud::sync_files(context_.cloud.bucket, code_, context_.options.code_prefix(hash_),
                             {.stop = stop, .progress = said(what)});
  });
  return machine_.uploaded(clocks(), cloud::hash_of(code_files()), report);
}

JobMachine::Actions CloudJob::create(const Actions& todo) {
  const ServiceJob made = request(todo, "creating " + named(), [&](const std::stop_token& stop) {
    if (const auto found = service().find(job(), stop)) return *found;
    return service().create(job(), stop);
  });
  return machine_.created(clocks(), made);
}

std::string CloudJob::piece_of_log(const Actions& todo) {
  const auto& [node, offset, size] = todo.piece;
  return request(todo, "reading the logs of " + named(), [&](const std::stop_token& stop) {
    return service().read_log(job(), machine_.seen(), node, offset, size, stop);
  });
}

JobMachine::Actions CloudJob::read_log(const Actions& todo) {
  const std::string piece = piece_of_log(todo);
  const fs::path path = log_file(todo.piece.node);
  std::ofstream file(path, std::ios::binary | std::ios::app);
  file << piece << std::flush;
  if (!file)
    throw Error(ErrorKind::environment, "the log cannot be written", path.string(),
                "free space there, then go on with --resume: the job goes on");
  return machine_.read(clocks(), piece.size(), piece);
}

JobMachine::Actions CloudJob::compare_log(const Actions& todo) {
  const auto& [node, offset, size] = todo.piece;
  const std::string theirs = piece_of_log(todo);
  const auto& before = machine_.state().earlier;
  const auto earlier = before.find(node);
  std::ifstream file(log_file(node), std::ios::binary);
  file.seekg(static_cast<std::streamoff>(offset + (earlier == before.end() ? 0 : earlier->second)));
  std::string ours(size, '\0');
  file.read(ours.data(), static_cast<std::streamsize>(size));
  return machine_.compared(clocks(), file && theirs == ours);
}

JobMachine::Actions CloudJob::fetch(const Actions& todo) {
  const std::string prefix =
      context_.options.round_prefix(context_.run.plan().run_id, machine_.state().name) + "out/";
  cloud::ObsBucket& bucket = context_.cloud.bucket;
  const auto objects =
      request(todo, "listing the results of " + named(),
              [&](const std::stop_token& stop) { return bucket.list(prefix, stop); });
  const ResultFiles results = result_files(objects, prefix);
  for (const auto& [object, below] : results.files) {
    std::string content;
    if (object.size > 0)
      content = request(todo, "fetching " + object.key, [&](const std::stop_token& stop) {
        return bucket.get(object.key, 0, 0, stop);
      });
    const fs::path file = folder_ / layout::kJobResults / below;
    make_directories(file.parent_path());
    write_file_atomic(file, content, /*sync=*/false);
  }
  return machine_.fetched(results.files.size(), objects.size(), results.impossible);
}

std::function<void(std::uint64_t, std::uint64_t)> CloudJob::said(const std::string& what) {
  return [this, what, last = std::int64_t{0}](std::uint64_t done, std::uint64_t total) mutable {
    const std::int64_t now = mono_now_ns();
    if (now - last < 1'000'000'000) return;
    last = now;
    context_.waiting(fmt::format("{}: {} of {}", what, format_bytes(static_cast<double>(done)),
                                 format_bytes(static_cast<double>(total))));
  };
}

RoundJob CloudJob::job() const {
  return round_job(context_.options, context_.run.plan(), case_, machine_.state().name,
                   machine_.state().code);
}

cloud::FolderFiles CloudJob::code_files() const {
  return service().code_files(context_.options.code, case_, folder_);
}

void CloudJob::journal(const JobMachine::JournalEntry& entry) {
  Json all = fields_to_json(store::RoundName{case_.name, round_});
  if (entry.node >= 0)
    all.update(fields_to_json(store::NodeName{entry.node, worker_name(entry.node)}));
  all.update(entry.fields);
  context_.journal.append(entry.event, all);
}

void CloudJob::journal_executed() {
  const Executed executed = service().executed(job());
  Json given = Json::object();
  for (const auto& [name, value] : executed.environment) given[name] = without_secret(name, value);
  Json what{{"node", 0},
            {"host", worker_name(0)},
            {"command", case_.command},
            {"image", executed.image},
            {"given", std::move(given)}};
  // The job has nothing else: its code is its program.
  if (const std::string& code = machine_.state().code; !code.empty())
    what["program"] = {{"path", executed.program}, {"sha256", code}};
  journal({store::JournalEvent::executed, -1, std::move(what)});
}

fs::path CloudJob::log_file(int node) const {
  return context_.run.node_dir(case_.name, round_, worker_name(node), node) /
         fmt::format("rank{}.out.log", node * case_.procs);
}

}  // namespace assay::launch
