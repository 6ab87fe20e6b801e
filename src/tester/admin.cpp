#include "tester/admin.h"

#include <algorithm>

#include <fmt/format.h>
#include <sys/stat.h>

#include "core/error.h"
#include "core/file_lock.h"
#include "core/run_layout.h"
#include "core/sha256.h"
#include "core/time.h"
#include "database/database.h"
#include "report/read_result.h"
#include "tester/api.h"
#include "tester/data_folder.h"
#include "tester/test_file.h"

namespace assay::tester {

namespace fs = std::filesystem;

namespace {

constexpr const char* kDatabase = "tester.db";

std::vector<fs::path> folders_in(const fs::path& data) {
  std::vector<fs::path> out;
  std::error_code ec;
  for (const auto& entry : fs::directory_iterator(data / "tests", ec)) out.push_back(entry.path());
  std::ranges::sort(out);
  return out;
}

void require_new(const fs::path& folder) {
  std::error_code ec;
  if (fs::exists(folder, ec) && !fs::is_empty(folder, ec))
    throw Error(ErrorKind::usage, "the folder is not empty", folder.string(),
                "give one that does not exist yet");
  make_directories(folder);
  ::chmod(folder.c_str(), 0700);
}

std::optional<judge::RunResult> result_of(const fs::path& folder) {
  const fs::path file = folder / layout::kResult;
  try {
    return report::read_result(file);
  } catch (const Error&) {
    return std::nullopt;
  }
}

void verify_test(const fs::path& folder, const TestRecord& test,
                 const std::optional<Manifest>& manifest, bool deep,
                 std::vector<std::string>& faults) {
  const auto add = [&](const std::string& text) {
    faults.push_back(fmt::format("test {}: {}", test.id, text));
  };
  if (test.status != TestStatus::accepted) return;
  std::error_code ec;
  if (!fs::is_directory(folder, ec)) {
    add("its folder is gone");
    return;
  }
  for (const std::string_view name : {layout::kResult, layout::kReportHtml})
    if (!fs::is_regular_file(folder / name, ec)) add(fmt::format("{} is missing", name));
  if (!result_of(folder)) add("result.json cannot be read");
  std::size_t n = 0;
  for (const ManifestFile& file : manifest ? manifest->files : std::vector<ManifestFile>()) {
    const fs::path path = folder / "files" / std::to_string(n++);
    const auto size = fs::file_size(path, ec);
    if (ec)
      add(file.path + " is missing");
    else if (size != file.size)
      add(fmt::format("{} has {} bytes instead of {}", file.path, size, file.size));
    else if (deep && sha256_file(path) != file.sha256)
      add(file.path + " has other content than was sent");
  }
}

}  // namespace

Records open_records(const fs::path& data) {
  const OwnerOnly files;
  const fs::path file = make_data_folder(data) / kDatabase;
  try {
    // Otherwise, damage after the first pages would only show during somebody's request.
    if (fs::exists(file) && !Records(file).sound())
      throw database::DatabaseError(database::Cause::damaged, "the database is damaged",
                                    file.string());
    return Records(file);
  } catch (const Error& error) {
    // A new database does not help if the disk is full, or another program holds this one.
    const auto* const failed = dynamic_cast<const database::DatabaseError*>(&error);
    if (!error.advice().empty() || (failed && failed->cause() != database::Cause::damaged)) throw;
    throw Error(error.kind(), error.message(), file.string(), kRebuildAdvice);
  }
}

void require_tester(const fs::path& data) {
  if (!fs::exists(data / kDatabase) && !fs::exists(data / "tests"))
    throw Error(ErrorKind::usage, "not a tester's data folder", data.string(),
                "give the one that 'assay serve --data DIR' uses");
}

UniqueFd lock_folder(const fs::path& data) {
  std::optional<UniqueFd> lock = try_lock_file(data / "lock");
  if (!lock)
    throw Error(ErrorKind::environment, "another tester serves this folder", data.string(),
                "end it first, or give another --data DIR");
  return *std::move(lock);
}

std::size_t take_in_folders(const fs::path& data, Records& records, Uploads& uploads) {
  std::size_t found = 0;
  for (const fs::path& folder : folders_in(data)) {
    const std::string id = folder.filename().string();
    if (is_test_id(id) && records.test(id)) {
      uploads.remove_work(id);
      if (!fs::exists(folder / kTestFile))
        write_test_file(folder, *records.test(id), records.manifest(id));
      continue;
    }
    const auto told = read_test_file(folder);
    if (!told) {
      if (is_test_id(id)) uploads.remove(id);
      continue;
    }
    records.adopt(told->test, told->manifest);
    uploads.remove_work(id);
    ++found;
  }
  for (const std::string& id : records.accepted_without_board())
    if (const auto result = result_of(uploads.folder(id)))
      records.set_board(id, board_run(*result));
  return found;
}

Rebuilt rebuild(const fs::path& data) {
  require_tester(data);
  const UniqueFd lock = lock_folder(data);
  Rebuilt out;
  std::vector<StoredToken> tokens;
  if (fs::exists(data / kDatabase)) {
    tokens = read_tokens(data / kDatabase);
    const std::string name = fmt::format("{}.old-{}", kDatabase, compact_utc(wall_now_ns()));
    for (const char* end : {"", "-wal", "-shm"}) {
      std::error_code ec;
      fs::rename(data / (kDatabase + std::string(end)), data / (name + end), ec);
    }
    out.kept = data / name;
  }
  Records records = open_records(data);
  for (const StoredToken& token : tokens) records.adopt_token(token);
  out.tokens = tokens.size();
  Uploads uploads(data);
  out.tests = take_in_folders(data, records, uploads);
  return out;
}

std::vector<std::string> verify(const fs::path& data, bool deep, const Progress& progress) {
  require_tester(data);
  std::vector<std::string> faults;
  try {
    const OwnerOnly files;
    Records records(data / kDatabase);  // whose faults are listed below
    faults = records.faults();
    const std::vector<std::string> ids = records.all_tests();
    std::size_t done = 0;
    for (const std::string& id : ids) {
      if (const auto test = records.test(id))
        verify_test(data / "tests" / id, *test, records.manifest(id), deep, faults);
      if (progress) progress(++done, ids.size());
    }
    for (const fs::path& folder : folders_in(data))
      if (const std::string id = folder.filename().string(); !is_test_id(id) || !records.test(id))
        faults.push_back(fmt::format("tests/{}: the database does not know it", id));
  } catch (const Error& error) {
    faults.push_back(fmt::format("the database cannot be read: {}", error.message()));
  }
  return faults;
}

void delete_test(const fs::path& data, const std::string& id) {
  require_tester(data);
  Records records = open_records(data);
  if (!is_test_id(id) || !records.test(id))
    throw Error(ErrorKind::usage, "there is no test '" + id + "'", data.string(),
                "'assay serve list' shows them");
  // Removes files first: a folder without a test would be taken in again.
  Uploads(data).remove(id);
  records.remove_test(id);
}

void export_test(const fs::path& data, const std::string& id, const fs::path& out) {
  require_tester(data);
  Records records = open_records(data);
  const auto test = is_test_id(id) ? records.test(id) : std::nullopt;
  if (!test)
    throw Error(ErrorKind::usage, "there is no test '" + id + "'", data.string(),
                "'assay serve list' shows them");
  require_new(out);
  const fs::path folder = data / "tests" / id;
  const auto manifest = records.manifest(id);
  std::size_t n = 0;
  for (const ManifestFile& file : manifest ? manifest->files : std::vector<ManifestFile>()) {
    const fs::path from = folder / "files" / std::to_string(n++);
    if (!fs::exists(from)) continue;  // incomplete, or removed with a refusal
    make_directories((out / file.path).parent_path());
    fs::copy_file(from, out / file.path);
  }
  for (const std::string_view name : {layout::kResult, layout::kReportHtml})
    if (fs::exists(folder / name))
      fs::copy_file(folder / name, out / name, fs::copy_options::overwrite_existing);
  write_test_file(out, *test, std::nullopt);
}

void backup(const fs::path& data, const fs::path& out, const Progress& progress) {
  require_tester(data);
  require_new(out);
  Records records = open_records(data);
  records.copy_to(out / kDatabase);
  // Tests that the database's copy calls finished are complete on disk and never change.
  Records copied(out / kDatabase);
  const std::vector<std::string> ids = copied.all_tests();
  std::size_t done = 0;
  for (const std::string& id : ids) {
    const auto test = copied.test(id);
    const fs::path folder = data / "tests" / id;
    if (test && !test->finished.empty() && fs::exists(folder)) {
      copy_files(folder, out / "tests" / id, true);
      write_test_file(out / "tests" / id, *test, copied.manifest(id));
    } else {
      copied.remove_test(id);  // an unfinished upload
    }
    if (progress) progress(++done, ids.size());
  }
  if (fs::exists(data / "keys/trusted"))
    copy_files(data / "keys/trusted", out / "keys/trusted", false);
  if (fs::exists(data / "tester.yaml")) fs::copy_file(data / "tester.yaml", out / "tester.yaml");
}

void restore(const fs::path& from, const fs::path& data, const Progress& progress) {
  require_tester(from);
  require_new(data);
  copy_files(from, data, false);
  // In the new folder, because opening the database updates it, and a backup must not change.
  const std::vector<std::string> faults = verify(data, true, progress);
  if (faults.empty()) return;
  std::error_code ec;
  fs::remove_all(data, ec);
  throw Error(ErrorKind::environment,
              fmt::format("the copy is damaged: {} ({} in all)", faults.front(), faults.size()),
              from.string(), "'assay serve verify --deep' lists all of it");
}

std::string reserve_test(const fs::path& data, const std::string& token, const std::string& name) {
  require_tester(data);
  Records records = open_records(data);
  const std::vector<TokenRecord> tokens = records.tokens();
  const auto found = std::ranges::find(tokens, token, &TokenRecord::name);
  if (found == tokens.end() || !found->revoked.empty())
    throw Error(ErrorKind::usage, "there is no good token named '" + token + "'", data.string(),
                "'assay serve token list' shows them");
  TestRecord wanted;
  wanted.token = token;
  wanted.name = name;
  bool is_new = false;
  return records.make_test(wanted, "", is_new).id;
}

}  // namespace assay::tester
