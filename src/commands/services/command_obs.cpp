#include <algorithm>
#include <filesystem>
#include <memory>
#include <mutex>

#include <fmt/format.h>

#include "cloud/local_names.h"
#include "cloud/service_error.h"
#include "cloud/sync.h"
#include "commands/base/byte_progress.h"
#include "commands/base/commands.h"
#include "commands/base/interrupt.h"
#include "commands/base/known_commands.h"
#include "commands/base/terminal.h"
#include "commands/services/store_target.h"
#include "core/error.h"
#include "core/files.h"
#include "core/parallel.h"
#include "core/text.h"
#include "core/units.h"

namespace assay::commands {

namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kSilence = 1'000'000'000;  // faster transfers need no progress

struct ObsCommand {
  StoreOptions store;
  std::string from;
  std::string to;
  std::string input = "data_url";  // the suite's
  bool recursive = false;
  bool remove = false;
  bool pretend = false;
};

StoreUrl need_url(const std::string& text) {
  const auto url = parse_store_url(text);
  if (!url)
    throw Error(ErrorKind::usage, "not the address of a store: '" + text + "'", {},
                "write it obs://BUCKET/KEY, or s3://BUCKET/KEY");
  return *url;
}

std::string as_folder(std::string key) {
  if (!key.empty() && !key.ends_with('/')) key += '/';
  return key;
}

/// A store's name in a form that fits on a line.
std::string on_one_line(const std::string& name) {
  std::string out = printable(name);
  std::ranges::replace(out, '\n', ' ');
  return out;
}

/// "a/b/c.txt" → "c.txt".
std::string last_name(const std::string& key) {
  return key.substr(key.rfind('/') + 1);
}

int list(const ObsCommand& options) {
  const StoreUrl url = need_url(options.from);
  const Interrupt interrupt;
  Store store(options.store);
  cloud::ObsBucket bucket = store.bucket(url.bucket);
  const cloud::Listing found =
      bucket.list_folder(url.key, options.recursive ? "" : "/", interrupt.token());
  std::string out;
  for (const std::string& folder : found.folders)
    out += fmt::format("{:>38}  {}\n", "", on_one_line(folder));
  std::uint64_t bytes = 0;
  for (const cloud::ObjectInfo& object : found.objects) {
    out += fmt::format("{:<24}  {:>12}  {}\n", on_one_line(object.modified), object.size,
                       on_one_line(object.key));
    bytes += object.size;
  }
  fmt::print("{}", out);
  tell_error(
      fmt::format("{}, {}{}\n", counted(found.objects.size(), "object"),
                  format_bytes(static_cast<double>(bytes)),
                  found.folders.empty() ? "" : ", " + counted(found.folders.size(), "folder")));
  if (found.objects.empty() && found.folders.empty() && !url.key.empty())
    throw Error(ErrorKind::environment, "there is nothing at " + url.text(), {},
                "keys are case-sensitive; 'assay obs ls obs://" + url.bucket + "' shows what is");
  return 0;
}

void say_synced(const cloud::SyncReport& report, bool pretend) {
  tell(fmt::format("{}{} uploaded ({}), {} unchanged, {} removed\n", pretend ? "would be: " : "",
                   report.uploaded, format_bytes(static_cast<double>(report.uploaded_bytes)),
                   report.unchanged, report.removed));
}

int upload_folder(const ObsCommand& options, const StoreUrl& to, bool remove) {
  const Interrupt interrupt;
  Store store(options.store);
  cloud::ObsBucket bucket = store.bucket(to.bucket);
  ByteProgress progress("Sent", kSilence);
  cloud::SyncOptions sync;
  sync.remove = remove;
  sync.pretend = options.pretend;
  sync.stop = interrupt.token();
  sync.progress = [&](std::uint64_t done, std::uint64_t total) { progress.show(done, total); };
  const cloud::FolderContent content = cloud::content_of(options.from, store.key_file());
  if (const std::string line = cloud::left_out_line(content); !line.empty())
    tell_error("assay: " + line + "\n");
  say_synced(cloud::sync_files(bucket, content.files, as_folder(to.key), sync), options.pretend);
  return 0;
}

/// Fetches files that are missing or differ below `folder`. Returns the number fetched.
int download_folder(const ObsCommand& options, const StoreUrl& from) {
  const Interrupt interrupt;
  Store store(options.store);
  cloud::ObsBucket bucket = store.bucket(from.bucket);
  const std::string prefix = as_folder(from.key);
  const fs::path folder = options.to;
  std::vector<std::pair<cloud::ObjectInfo, fs::path>> wanted;
  std::uint64_t total = 0;
  std::size_t unchanged = 0;
  for (const auto& [object, below] :
       cloud::local_names(bucket.list(prefix, interrupt.token()), prefix, from.text())) {
    const fs::path path = folder / below;
    std::error_code ec;
    if (fs::is_regular_file(path, ec) && fs::file_size(path, ec) == object.size &&
        bucket.etag_of(path) == object.etag) {
      ++unchanged;
      continue;
    }
    total += object.size;
    wanted.emplace_back(object, path);
  }
  if (wanted.empty() && unchanged == 0)
    throw Error(ErrorKind::environment, "there is nothing at " + from.text(), {},
                "keys are case-sensitive");
  if (!options.pretend) {
    ByteProgress progress("Fetched", kSilence);
    std::mutex mutex;
    std::uint64_t done = 0;
    std::uint64_t came = 0;
    run_parallel(wanted.size(), bucket.options().parallel, interrupt.token(),
                 [&](std::size_t i, const std::stop_token& stop) {
                   const auto& [object, path] = wanted[i];
                   make_directories(path.parent_path());
                   const std::uint64_t bytes = bucket.get_listed(object, path, stop);
                   const std::lock_guard lock(mutex);
                   came += bytes;
                   progress.show(done += object.size, total);
                 });
    total = came;  // excludes what an earlier call had fetched
  }
  tell(fmt::format("{}{} fetched ({}), {} unchanged\n", options.pretend ? "would be: " : "",
                   wanted.size(), format_bytes(static_cast<double>(total)), unchanged));
  return 0;
}

int copy(const ObsCommand& options) {
  const auto from = parse_store_url(options.from);
  const auto to = parse_store_url(options.to);
  if (from.has_value() == to.has_value())
    throw Error(ErrorKind::usage, "one of both must be an address of a store, the other a path", {},
                "assay obs cp FILE obs://BUCKET/KEY, or the other way round");
  std::error_code ec;
  if (options.recursive)
    return from ? download_folder(options, *from) : upload_folder(options, *to, /*remove=*/false);
  const Interrupt interrupt;
  Store store(options.store);
  if (to) {
    if (fs::is_directory(options.from, ec))
      throw Error(ErrorKind::usage, "this is a folder", options.from, "add -r, or use sync");
    cloud::ObsBucket bucket = store.bucket(to->bucket);
    const std::string key = to->key.empty() || to->key.ends_with('/')
                                ? to->key + fs::path(options.from).filename().string()
                                : to->key;
    const cloud::ObjectInfo sent = bucket.put_file(key, options.from, interrupt.token());
    fmt::print("obs://{}/{}: {}, ETag {}\n", to->bucket, key,
               format_bytes(static_cast<double>(sent.size)), sent.etag);
    return 0;
  }
  if (from->key.empty() || from->key.ends_with('/'))
    throw Error(ErrorKind::usage, "this is a folder of the store", from->text(),
                "add -r, or use sync");
  const fs::path path = fs::is_directory(options.to, ec)
                            ? fs::path(options.to) / last_name(from->key)
                            : fs::path(options.to);
  cloud::ObsBucket bucket = store.bucket(from->bucket);
  (void)bucket.get_file(from->key, path, interrupt.token());
  fmt::print("{}: {}\n", path.string(), format_bytes(static_cast<double>(fs::file_size(path, ec))));
  return 0;
}

/// Without a target, the suite's data set is meant: the folder read by its job.
StoreUrl input_of(const ObsCommand& options) {
  if (options.store.suite.empty())
    throw Error(ErrorKind::usage, "where to is missing", {},
                "give obs://BUCKET/FOLDER/, or --suite SUITE for the data of a suite");
  const SuiteStore suite = store_of_suite(options.store.suite);
  if (suite.s3)
    throw Error(ErrorKind::usage, "where to is missing", options.store.suite,
                "give s3://BUCKET/FOLDER/: only jobs of modelarts have inputs by name");
  const auto at = suite.inputs.find(options.input);
  if (at == suite.inputs.end())
    throw Error(ErrorKind::usage, "the suite has no input '" + options.input + "'",
                options.store.suite, "name it with --input; cluster.modelarts.inputs has them");
  return need_url("obs:/" + at->second);
}

int sync(const ObsCommand& options) {
  const auto from = parse_store_url(options.from);
  if (from) {
    if (options.to.empty() || parse_store_url(options.to))
      throw Error(ErrorKind::usage, "a folder of this machine is missing", {},
                  "assay obs sync obs://BUCKET/FOLDER/ FOLDER");
    if (options.remove)
      throw Error(ErrorKind::usage, "--delete is for uploads: no file of this machine is removed");
    return download_folder(options, *from);
  }
  const StoreUrl to = options.to.empty() ? input_of(options) : need_url(options.to);
  return upload_folder(options, to, options.remove);
}

int remove(const ObsCommand& options) {
  const StoreUrl url = need_url(options.from);
  if (url.key.empty())
    throw Error(ErrorKind::usage, "a whole bucket is not removed", url.text(),
                "give obs://BUCKET/FOLDER/ and -r");
  const Interrupt interrupt;
  Store store(options.store);
  cloud::ObsBucket bucket = store.bucket(url.bucket);
  std::vector<std::string> keys;
  if (options.recursive)
    for (const cloud::ObjectInfo& object : bucket.list(as_folder(url.key), interrupt.token()))
      keys.push_back(object.key);
  else if (bucket.head(url.key, interrupt.token()))
    keys.push_back(url.key);
  if (keys.empty())
    throw Error(ErrorKind::environment, "there is nothing at " + url.text(), {},
                options.recursive ? "keys are case-sensitive" : "a folder needs -r");
  if (!options.pretend)
    run_parallel(keys.size(), bucket.options().parallel, interrupt.token(),
                 [&](std::size_t i, const std::stop_token& stop) { bucket.remove(keys[i], stop); });
  tell(fmt::format("{}{} removed\n", options.pretend ? "would be: " : "",
                   counted(keys.size(), "object")));
  return 0;
}

}  // namespace

void add_obs(CLI::App& app, Action& action) {
  CLI::App* command = add_known(app, "obs");
  command->require_subcommand(1);
  const auto add = [&](const char* name, const char* what, int (*run)(const ObsCommand&)) {
    const auto options = std::make_shared<ObsCommand>();
    CLI::App* sub = command->add_subcommand(name, what);
    add_store_options(*sub, options->store);
    sub->callback([options, run, &action] { action = [options, run] { return run(*options); }; });
    return std::pair(sub, options);
  };
  const auto [ls, ls_options] = add("ls", "List the objects and folders at an address", &list);
  ls->add_option("url", ls_options->from, "obs://BUCKET/PREFIX")->required()->type_name("URL");
  ls->add_flag("-r,--recursive", ls_options->recursive, "All below it");
  const auto [cp, cp_options] = add("cp", "Copy a file to a store, or from it", &copy);
  cp->add_option("from", cp_options->from, "File or URL")->required();
  cp->add_option("to", cp_options->to, "URL or file")->required();
  cp->add_flag("-r,--recursive", cp_options->recursive, "A folder with all that is in it");
  const auto [sy, sy_options] = add("sync",
                                    "Make a folder of a store equal to one here, or the "
                                    "other way round; only what differs is sent",
                                    &sync);
  sy->add_option("from", sy_options->from, "Folder or URL")->required();
  sy->add_option("to", sy_options->to, "URL or folder; with --suite the folder of its input");
  sy->add_option("--input", sy_options->input, "The suite's input that is meant (data_url)");
  sy->add_flag("--delete", sy_options->remove, "Remove what is in the store and not in the folder");
  sy->add_flag("--dry-run", sy_options->pretend, "Only say how much would be done");
  const auto [rm, rm_options] = add("rm", "Remove an object, or all below an address", &remove);
  rm->add_option("url", rm_options->from, "obs://BUCKET/KEY")->required()->type_name("URL");
  rm->add_flag("-r,--recursive", rm_options->recursive, "All below it");
  rm->add_flag("--dry-run", rm_options->pretend, "Only say how much would be done");
  command->footer(
      "Examples:\n"
      "  assay obs ls obs://bucket/data/ --region cn-north-4\n"
      "  assay obs sync imagenet/ --suite cloud.yaml      the data set that the suite's job reads\n"
      "  assay obs cp model.ckpt s3://bucket/ckpt/ --s3 --endpoint http://127.0.0.1:4568\n"
      "  assay obs rm -r obs://bucket/assay/old-run/ --region cn-north-4\n"
      "\n"
      "Of a folder, secrets, .git, runs and what its .assayignore names are not uploaded.");
}

}  // namespace assay::commands
