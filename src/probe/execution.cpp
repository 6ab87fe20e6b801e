#include "probe/execution.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include <sys/stat.h>
#include <unistd.h>

#include "core/error.h"
#include "core/secrets.h"
#include "core/sha256.h"
#include "core/subprocess.h"
#include "core/text.h"

namespace assay::probe {

namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t kMaxProgram = 2ULL << 30;
constexpr std::uint64_t kMaxSource = 64ULL << 20;
constexpr std::size_t kMaxFiles = 64;
constexpr Nanoseconds kImageLimit = std::chrono::seconds(10);
constexpr ListingLimits kDataLimits{20'000, std::chrono::seconds(3)};

fs::path in_folder(const std::string& path, const std::string& workdir) {
  return workdir.empty() || path.starts_with('/') ? fs::path(path) : fs::path(workdir) / path;
}

std::string path_of(const ExecutionQuery& query) {
  if (const auto given = query.env.find("PATH"); given != query.env.end()) return given->second;
  const char* own = std::getenv("PATH");
  return own == nullptr ? "/usr/local/bin:/usr/bin:/bin" : own;
}

constexpr const char* kInImage = "in the image";

// A command path's location on this machine; nothing if it is in the container's image.
std::optional<fs::path> on_this_machine(const ExecutionQuery& query, const fs::path& path) {
  if (!query.mounts) return path;
  const fs::path inside = path.lexically_normal();
  if (!inside.is_absolute()) return std::nullopt;  // relative to the image's own working folder
  std::optional<fs::path> found;
  std::size_t longest = 0;
  for (const auto& [target, source] : *query.mounts) {
    const fs::path below = inside.lexically_relative(fs::path(target).lexically_normal());
    if (below.empty() || *below.begin() == ".." || target.size() < longest) continue;
    longest = target.size();
    found = below == "." ? fs::path(source) : fs::path(source) / below;
  }
  return found;
}

fs::path find_executed(const ExecutionQuery& query) {
  const std::string& name = query.argv.front();
  if (name.find('/') != std::string::npos) return in_folder(name, query.workdir);
  const std::string path = path_of(query);
  for (const std::string_view folder : split(std::string_view(path), ':')) {
    fs::path file = in_folder(std::string(folder), query.workdir) / name;
    std::error_code ec;
    if (fs::is_regular_file(file, ec) && ::access(file.c_str(), X_OK) == 0) return file;
  }
  return name;
}

// The words of a command, of a shell's text and in --option=value.
std::vector<std::string> words_of(const std::vector<std::string>& argv) {
  std::vector<std::string> out;
  for (std::size_t i = 1; i < argv.size(); ++i) {
    std::string word;
    for (const char c : argv[i] + " ") {
      if (std::string_view(" \t\n'\"=;&|()<>").find(c) == std::string_view::npos) {
        word += c;
        continue;
      }
      if (!word.empty() && std::ranges::find(out, word) == out.end()) out.push_back(word);
      word.clear();
    }
  }
  return out;
}

std::string image_of(const std::vector<std::string>& query) {
  if (query.empty()) return {};
  try {
    CommandOptions options;
    options.timeout = kImageLimit;
    const CommandResult result = run_command(query, options);
    if (!result.status.ok()) return {};
    const std::string_view text = trim(result.out);
    return printable(ellipsize(std::string(text.substr(0, text.find('\n'))), 300));
  } catch (const Error&) {
    return {};
  }
}

}  // namespace

struct FileHashes::Known {
  dev_t device = 0;
  ino_t inode = 0;
  off_t size = 0;
  timespec modified{};
  timespec changed{};
  std::string sha256;

  [[nodiscard]] bool is(const struct stat& info) const {
    const auto same = [](const timespec& a, const timespec& b) {
      return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
    };
    return device == info.st_dev && inode == info.st_ino && size == info.st_size &&
           same(modified, info.st_mtim) && same(changed, info.st_ctim);
  }
};

FileHashes::FileHashes() = default;
FileHashes::~FileHashes() = default;

FileIdentity FileHashes::identify(const fs::path& path, std::uint64_t limit) {
  std::error_code ec;
  const fs::path absolute = fs::absolute(path, ec);
  FileIdentity out{(ec ? path : absolute).lexically_normal().string()};
  struct stat info {};
  if (::stat(out.path.c_str(), &info) != 0) {
    out.problem = std::strerror(errno);
    return out;
  }
  if (!S_ISREG(info.st_mode)) {
    out.problem = "not a regular file";
    return out;
  }
  out.bytes = static_cast<std::uint64_t>(info.st_size);
  if (out.bytes > limit) {
    out.problem = "too large to be hashed";
    return out;
  }
  if (const auto known = known_.find(out.path); known != known_.end() && known->second.is(info)) {
    out.sha256 = known->second.sha256;
    return out;
  }
  try {
    out.sha256 = sha256_file(out.path);
    known_[out.path] = {info.st_dev,  info.st_ino,  info.st_size,
                        info.st_mtim, info.st_ctim, out.sha256};
  } catch (const Error& error) {
    out.problem = error.message();
  }
  return out;
}

bool is_source_name(const fs::path& path) {
  static constexpr std::array<std::string_view, 30> kEndings{
      ".py",  ".pyx", ".sh",   ".bash", ".c",    ".cc",  ".cpp", ".cu",    ".cuh",   ".h",
      ".hpp", ".so",  ".yaml", ".yml",  ".toml", ".cfg", ".ini", ".proto", ".ipynb", ".jl",
      ".lua", ".rs",  ".go",   ".java", ".jar",  ".js",  ".ts",  ".pl",    ".rb",    ".conf"};
  return std::ranges::find(kEndings, to_lower(path.extension().string())) != kEndings.end();
}

FolderIdentity identify_folder(const fs::path& folder, FileHashes& hashes,
                               const FolderLimits& limits) {
  FolderIdentity out{folder.string()};
  const std::int64_t deadline = mono_now_ns() + limits.time.count();
  std::map<std::string, fs::path> sources;  // by relative name, which fixes the order
  std::uint64_t seen = 0;
  std::error_code ec;
  fs::recursive_directory_iterator at(folder, fs::directory_options::skip_permission_denied, ec);
  for (; !ec && at != fs::recursive_directory_iterator(); at.increment(ec)) {
    if (++seen > limits.entries || mono_now_ns() > deadline) {
      out.complete = false;
      break;
    }
    const std::string name = at->path().filename().string();
    std::error_code ignored;
    if (at->is_directory(ignored)) {
      if (name.starts_with('.') || name == "__pycache__" || name == "node_modules")
        at.disable_recursion_pending();
    } else if (at->is_regular_file(ignored) && is_source_name(at->path())) {
      sources[at->path().lexically_relative(folder).generic_string()] = at->path();
    }
  }
  if (ec) {
    out.problem = ec.message();
    out.complete = false;
    return out;
  }
  Sha256 hash;
  for (const auto& [name, path] : sources) {
    if (out.bytes > limits.bytes || mono_now_ns() > deadline) {
      out.complete = false;
      break;
    }
    const FileIdentity file = hashes.identify(path, kMaxSource);
    ++out.files;
    out.bytes += file.bytes;
    hash.update(name + '\0' + std::to_string(file.bytes) + '\0' + file.sha256 + '\n');
  }
  out.sha256 = hash.hex();
  return out;
}

bool matters(std::string_view variable) {
  static constexpr std::array<std::string_view, 47> kBeginnings{
      "OMP_",     "GOMP_", "KMP_",     "MKL_",    "OPENBLAS_", "BLIS_",  "TBB_",      "NUMEXPR_",
      "ONEDNN_",  "DNNL_", "CUDA_",    "NVIDIA_", "CUBLAS",    "CUDNN_", "NCCL_",     "TORCH",
      "PYTORCH_", "ATEN_", "XLA_",     "JAX_",    "TF_",       "HCCL_",  "ASCEND_",   "NPU_",
      "ROCR_",    "HIP_",  "HSA_",     "RCCL_",   "MIOPEN_",   "UCX_",   "FI_",       "OMPI_",
      "I_MPI_",   "GLOO_", "HOROVOD_", "MLU_",    "CNCL_",     "MUSA_",  "MCCL_",     "XPU_",
      "BKCL_",    "IXCL_", "PYTHON",   "LD_",     "MALLOC_",   "GLIBC_", "DEEPSPEED_"};
  return std::ranges::any_of(kBeginnings,
                             [&](std::string_view begin) { return variable.starts_with(begin); });
}

namespace {

FileIdentity in_image(const std::string& name) {
  FileIdentity file{name};
  file.problem = kInImage;
  return file;
}

FileIdentity identify_program(const ExecutionQuery& query, FileHashes& hashes) {
  const std::string& name = query.argv.front();
  if (!query.mounts) return hashes.identify(find_executed(query), kMaxProgram);
  // A name without a folder is looked up in the image's PATH.
  const bool has_folder = name.find('/') != std::string::npos;
  const auto path = has_folder ? on_this_machine(query, in_folder(name, query.workdir))
                               : std::optional<fs::path>();
  return path ? hashes.identify(*path, kMaxProgram) : in_image(name);
}

}  // namespace

Execution identify(const ExecutionQuery& query, FileHashes& hashes) {
  Execution out;
  if (!query.argv.empty()) out.program = identify_program(query, hashes);
  for (const std::string& word : words_of(query.argv)) {
    if (out.files.size() >= kMaxFiles) break;
    std::error_code ec;
    if (!is_source_name(word)) continue;
    const auto path = on_this_machine(query, in_folder(word, query.workdir));
    if (path && fs::is_regular_file(*path, ec))
      out.files.push_back(hashes.identify(*path, kMaxSource));
    else if (!path)
      out.files.push_back(in_image(word));
  }
  if (const auto folder = on_this_machine(query, query.workdir); folder && !query.workdir.empty())
    out.code = identify_folder(*folder, hashes);
  for (const std::string& name : query.data)
    if (const auto path = on_this_machine(query, in_folder(name, query.workdir)))
      out.data.push_back(list_data(*path, kDataLimits));
  out.image = image_of(query.image_query);
  for (const auto& [name, value] : query.env) out.given[name] = without_secret(name, value);
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const std::string name(text.substr(0, text.find('=')));
    if (matters(name) && name.size() < text.size() && !query.env.contains(name))
      out.own[name] = without_secret(name, text.substr(name.size() + 1));
  }
  return out;
}

}  // namespace assay::probe
