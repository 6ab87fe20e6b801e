#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/json_fields.h"
#include "core/time.h"
#include "probe/listing.h"

namespace assay::probe {

/// A file and its content.
struct FileIdentity {
  std::string path;  ///< absolute, where found; for a file in an image, as named
  std::string sha256{};
  std::uint64_t bytes = 0;
  std::string problem{};  ///< why there is no hash; empty if there is

  template <class Self, class F>
  static void fields(Self& self, F&& field) {
    field("path", self.path);
    field.optional("sha256", self.sha256);
    field.optional("bytes", self.bytes);
    field.optional("problem", self.problem);
  }
};

/// A folder's source files and their contents.
struct FolderIdentity {
  std::string path;
  std::string sha256{};  ///< of relative names, sizes and content hashes, in a fixed order
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;
  bool complete = true;  ///< false: a limit was reached, and the hash covers a part
  std::string problem{};

  template <class Self, class F>
  static void fields(Self& self, F&& field) {
    field("path", self.path);
    field.optional("sha256", self.sha256);
    field("files", self.files);
    field("bytes", self.bytes);
    field("complete", self.complete);
    field.optional("problem", self.problem);
  }
};

/// The command that a rank is about to execute, and its surroundings.
struct ExecutionQuery {
  std::vector<std::string> argv;
  std::map<std::string, std::string> env;  ///< added to this process's own
  std::string workdir;                     ///< empty: this process's
  std::vector<std::string> data;           ///< paths, relative to workdir
  std::vector<std::string> image_query{};  ///< a command that prints the container image, or empty
  /// If argv runs in a container: the folders of this machine in it, path inside → path here. Files
  /// below them are hashed; all others are the image's and never looked for here.
  std::optional<std::map<std::string, std::string>> mounts{};

  template <class Self, class F>
  static void fields(Self& self, F&& field) {
    field("argv", self.argv);
    field("env", self.env);
    field("workdir", self.workdir);
    field("data", self.data);
    field.optional("image_query", self.image_query);
    field.optional("mounts", self.mounts);
  }
};

/// The programs and code by content, data by listing, and environment, as far as it affects
/// results, that would be used now. Values that look like secrets are hidden.
struct Execution {
  FileIdentity program;                ///< argv[0] as found by execvp
  std::vector<FileIdentity> files;     ///< source files named by the other words
  std::optional<FolderIdentity> code;  ///< of workdir, if given
  std::vector<Listing> data;
  std::string image;                         ///< as printed by the query, or empty
  std::map<std::string, std::string> given;  ///< variables set by Assay and the suite
  std::map<std::string, std::string> own;    ///< from this process: OMP_*, CUDA_*, LD_PRELOAD …

  template <class Self, class F>
  static void fields(Self& self, F&& field) {
    field("program", self.program);
    field("files", self.files);
    field.optional("code", self.code);
    field("data", self.data);
    field.optional("image", self.image);
    field("given", self.given);
    field("own", self.own);
  }
};

/// Hashes of files read earlier, recognized by device, inode, size and times. Not thread-safe.
class FileHashes {
 public:
  FileHashes();
  ~FileHashes();
  FileHashes(const FileHashes&) = delete;
  FileHashes& operator=(const FileHashes&) = delete;
  /// A file above `limit` bytes gets a problem instead of a hash. Does not throw.
  [[nodiscard]] FileIdentity identify(const std::filesystem::path& path, std::uint64_t limit);

 private:
  struct Known;
  std::map<std::string, Known> known_;
};

struct FolderLimits {
  std::uint64_t entries = 20'000;      ///< examined
  std::uint64_t bytes = 256ULL << 20;  ///< of source files
  Nanoseconds time = std::chrono::seconds(5);
};

/// Whether the name is that of a source file or a setting, unlike those of outputs.
[[nodiscard]] bool is_source_name(const std::filesystem::path& path);

/// Excludes hidden folders, __pycache__ and links to folders. Bounded; does not throw.
[[nodiscard]] FolderIdentity identify_folder(const std::filesystem::path& folder,
                                             FileHashes& hashes, const FolderLimits& limits = {});

/// Whether a user's variable affects results: threads, devices, libraries, Python.
[[nodiscard]] bool matters(std::string_view variable);

/// Bounded; does not throw.
[[nodiscard]] Execution identify(const ExecutionQuery& query, FileHashes& hashes);

}  // namespace assay::probe
