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
  std::string path;  ///< absolute if it was found; of a file in an image, as it was named
  std::string sha256{};
  std::uint64_t bytes = 0;
  std::string problem{};  ///< why there is no hash; empty: there is

  template <class Self, class F>
  static void fields(Self& self, F&& field) {
    field("path", self.path);
    field.optional("sha256", self.sha256);
    field.optional("bytes", self.bytes);
    field.optional("problem", self.problem);
  }
};

/// The source files of a folder and their contents.
struct FolderIdentity {
  std::string path;
  std::string sha256{};  ///< of relative names, sizes and hashes of contents, in a fixed order
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;
  bool complete = true;  ///< false: a limit was reached, the hash is of a part
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

/// The command that a rank is about to run.
struct ExecutionQuery {
  std::vector<std::string> argv;
  std::map<std::string, std::string> env;  ///< that it is given beside this process's own
  std::string workdir;                     ///< empty: this process's
  std::vector<std::string> data;           ///< paths, relative to workdir
  std::vector<std::string>
      image_query{};  ///< a command that prints its container's image; or empty
  /// Where argv is run in a container: the folders of this machine that are there, path inside →
  /// path here. Files below them are hashed; all others are the image's, and never looked for here.
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

/// What would be executed now: programs and code by content, data by listing, and the environment
/// as far as it changes results. Values that look like secrets are hidden.
struct Execution {
  FileIdentity program;                ///< argv[0] as execvp finds it
  std::vector<FileIdentity> files;     ///< source files that the other words name
  std::optional<FolderIdentity> code;  ///< of workdir, where one is given
  std::vector<Listing> data;
  std::string image;                         ///< as the query printed it, or empty
  std::map<std::string, std::string> given;  ///< variables that Assay and the suite set
  std::map<std::string, std::string> own;    ///< of this process's: OMP_*, CUDA_*, LD_PRELOAD …

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

/// Hashes of files that were read before, known again by device, inode, size and times. Not thread
/// safe.
class FileHashes {
 public:
  FileHashes();
  ~FileHashes();
  FileHashes(const FileHashes&) = delete;
  FileHashes& operator=(const FileHashes&) = delete;
  /// A file above `limit` bytes has a problem instead of a hash. Does not throw.
  [[nodiscard]] FileIdentity identify(const std::filesystem::path& path, std::uint64_t limit);

 private:
  struct Known;
  std::map<std::string, Known> known_;
};

struct FolderLimits {
  std::uint64_t entries = 20'000;      ///< looked at
  std::uint64_t bytes = 256ULL << 20;  ///< of source files
  Nanoseconds time = std::chrono::seconds(5);
};

/// Whether its name is that of a source file or a setting: what outputs are not called.
[[nodiscard]] bool is_source_name(const std::filesystem::path& path);

/// Hidden folders, __pycache__ and links to folders are left out. Bounded; does not throw.
[[nodiscard]] FolderIdentity identify_folder(const std::filesystem::path& folder,
                                             FileHashes& hashes, const FolderLimits& limits = {});

/// Whether a variable of the user's changes results: threads, devices, libraries, Python.
[[nodiscard]] bool matters(std::string_view variable);

/// Bounded; does not throw.
[[nodiscard]] Execution identify(const ExecutionQuery& query, FileHashes& hashes);

}  // namespace assay::probe
