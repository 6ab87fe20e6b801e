#include "agent/evidence_log.h"

#include <cstring>

#include "core/error.h"
#include "core/rank_log_name.h"
#include "core/run_layout.h"

namespace assay::agent {

namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t kOften = 16 << 20;
constexpr std::int64_t kSeldom = 10'000'000'000;
// For a workload's own files. Hashing this much takes a second at worst, while the loop waits.
constexpr std::uintmax_t kMaxRead = 256 << 20;

telemetry::LogFile create_log(const fs::path& path) {
  std::error_code ignored;
  fs::remove(path, ignored);
  return telemetry::LogFile(path, {}, telemetry::LogFile::Hashed::yes);
}

}  // namespace

EvidenceLog::EvidenceLog(fs::path directory, std::string_view round_id, int node)
    : directory_(std::move(directory)),
      file_(create_log(directory_ / layout::kEvidence)),
      chain_(round_id, node) {}

int EvidenceLog::add(const Instant& at, const std::vector<evidence::FileRecord>& files) {
  if (file_.record().bytes >= kOften && at.mono_ns - written_ns_ < kSeldom) return 0;
  return write(at, files);
}

int EvidenceLog::write(const Instant& at, const std::vector<evidence::FileRecord>& files) {
  std::vector<evidence::FileRecord> changed;
  for (const evidence::FileRecord& file : files)
    if (const auto known = last_.find(file.name); known == last_.end() || known->second != file)
      changed.push_back(file);
  if (changed.empty()) return 0;
  evidence::Chain next = chain_;
  if (const int error = file_.append(next.append(at, changed)); error != 0) return error;
  chain_ = std::move(next);
  written_ns_ = at.mono_ns;
  for (evidence::FileRecord& file : changed) last_[file.name] = std::move(file);
  return 0;
}

std::vector<evidence::FileRecord> EvidenceLog::finish(
    const Instant& at, const std::vector<evidence::FileRecord>& written,
    std::vector<std::string>& problems) {
  std::map<std::string, evidence::FileRecord> all;
  for (const evidence::FileRecord& file : written) all.emplace(file.name, file);
  std::error_code ec;
  for (fs::directory_iterator entry(directory_, ec), end; !ec && entry != end;
       entry.increment(ec)) {
    const std::string name = entry->path().filename().string();
    const layout::RunFile* file = layout::find_run_file(layout::FilePlace::node, name);
    if (file == nullptr || !file->judged || name == layout::kEvidence || all.contains(name))
      continue;
    // The agent writes the ranks' logs itself: one that it did not write was made by a rank.
    if (layout::is_rank_log_name(name)) continue;
    try {
      std::error_code unknown;
      if (const auto size = fs::file_size(entry->path(), unknown); !unknown && size > kMaxRead)
        problems.push_back(name + " is too large to be listed");
      else if (auto found = evidence::measure_file(entry->path(), name))
        all.emplace(name, std::move(*found));
    } catch (const Error& error) {
      problems.push_back(std::string(error.what()) + ": it is not listed");
    }
  }
  if (ec) problems.push_back("the folder cannot be listed: " + ec.message());
  std::vector<evidence::FileRecord> list;
  for (auto& [name, file] : all) list.push_back(std::move(file));
  last_error_ = write(at, list);
  list.push_back(file_.record());
  file_.close();
  return list;
}

}  // namespace assay::agent
