#include "client/code_upload.h"

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "code/content_bundle.h"
#include "core/files.h"
#include "core/json_access.h"
#include "core/json_fields.h"
#include "core/regular_file.h"
#include "core/text.h"

namespace assay::client {

namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t kPart = 2U << 20;
constexpr Nanoseconds kSendLimit = std::chrono::minutes(5);

[[noreturn]] void changed(const fs::path& file) {
  throw Error(ErrorKind::environment, "the file has changed while it was sent", file.string(),
              "submit again when nothing writes to it");
}

std::string read_part_of(int fd, const fs::path& file, std::uint64_t offset, std::uint64_t size) {
  std::string part(size, '\0');
  for (std::size_t done = 0; done < part.size();) {
    const ssize_t n =
        ::pread(fd, part.data() + done, part.size() - done, static_cast<off_t>(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw system_error(ErrorKind::environment, "cannot read", file.string(), errno);
    if (n == 0) changed(file);
    done += static_cast<std::size_t>(n);
  }
  return part;
}

class CodeSender {
 public:
  CodeSender(const Connection& connection, fs::path folder,
             const std::function<void(std::uint64_t, std::uint64_t)>& progress)
      : connection_(connection), folder_(std::move(folder)), progress_(progress) {}

  CodeUpload send(const code::Manifest& manifest) {
    const Json answer = announce(manifest);
    CodeUpload upload;
    upload.id = text_at(answer, "code");
    if (upload.id.empty())
      throw Error(ErrorKind::launch, "the server gave the upload no id", connection_.server().url);
    std::map<std::string, const code::File*> files;
    for (const code::File& file : manifest.files) files.emplace(file.sha256, &file);
    std::vector<const code::File*> missing;
    for (const Json& hash : list_at(answer, "missing")) {
      const auto found = files.find(hash.is_string() ? hash.get<std::string>() : std::string());
      if (found == files.end())
        throw Error(ErrorKind::launch, "the server asks for a file that is not in the folder",
                    connection_.server().url);
      missing.push_back(found->second);
      upload.bytes += found->second->size;
    }
    upload.files = missing.size();
    // A server that does not speak of bundles takes one content after the other.
    const auto room = std::min(kPart, static_cast<std::uint64_t>(std::max<std::int64_t>(
                                          integer_at(answer, "bundle", 0), 0)));
    for (const code::File* file : missing) {
      const std::uint64_t size = file->size + code::kBundleLine;
      if (size > room) {
        put(*file, upload.bytes);
        continue;
      }
      if (bundle_.size() + size > room) put_bundle(upload.bytes);
      add(*file);
    }
    put_bundle(upload.bytes);
    return upload;
  }

 private:
  Json announce(const code::Manifest& manifest) const {
    try {
      return connection_.ask({.method = "POST",
                              .path = "/code",
                              .body = fields_to_json(manifest),
                              .repeatable = true,
                              .limit = kSendLimit});
    } catch (const Refused& refused) {
      if (refused.status() != 404 && refused.status() != 405) throw;
      throw Error(ErrorKind::environment, "the server takes no uploads", connection_.server().url,
                  "submit with --no-code");
    }
  }

  [[nodiscard]] UniqueFd open(const code::File& file) const {
    UniqueFd fd = open_regular_file(folder_ / file.path);
    if (!fd) changed(folder_ / file.path);
    return fd;
  }

  void add(const code::File& file) {
    const UniqueFd fd = open(file);
    code::add_to_bundle(bundle_, file.sha256,
                        read_part_of(fd.get(), folder_ / file.path, 0, file.size));
    bundled_.emplace(file.sha256, &file);
  }

  void put_bundle(std::uint64_t total) {
    if (bundled_.empty()) return;
    const Json answer = connection_.ask(
        {.method = "PUT", .path = "/code/blobs", .bytes = std::move(bundle_), .limit = kSendLimit});
    for (const Json& hash : list_at(answer, "wrong"))
      if (const auto found = bundled_.find(hash.is_string() ? hash.get<std::string>() : "");
          found != bundled_.end())
        changed(folder_ / found->second->path);
    for (const auto& [hash, file] : bundled_) done_ += file->size;
    bundle_.clear();
    bundled_.clear();
    if (progress_) progress_(done_, total);
  }

  void put(const code::File& file, std::uint64_t total) {
    const fs::path path = folder_ / file.path;
    const UniqueFd fd = open(file);
    std::uint64_t here = 0;
    // Twice it may be that a part brings nothing: the server has more, or what it had was damaged.
    int patience = 2;
    do {
      const std::string part =
          read_part_of(fd.get(), path, here, std::min(kPart, file.size - here));
      const std::optional<std::uint64_t> received = send_part(file, here, part);
      if (received != here + part.size() && patience-- == 0) {
        if (!received) changed(path);
        throw Error(ErrorKind::launch, "the server does not take " + printable(file.path),
                    connection_.server().url);
      }
      here = std::min(received.value_or(0), file.size);
      if (progress_) progress_(done_ + here, total);
    } while (here < file.size);
    done_ += file.size;
  }

  // Where the next part begins; nothing: the content has another hash, and was thrown away.
  [[nodiscard]] std::optional<std::uint64_t> send_part(const code::File& file, std::uint64_t offset,
                                                       const std::string& part) const {
    try {
      const Json answer = connection_.ask({.method = "PUT",
                                           .path = "/code/blobs/" + file.sha256,
                                           .query = {{"offset", std::to_string(offset)}},
                                           .bytes = part,
                                           .limit = kSendLimit});
      const std::int64_t received = integer_at(answer, "received", -1);
      if (received >= 0) return static_cast<std::uint64_t>(received);
    } catch (const Refused& refused) {
      if (refused.status() == 422) return std::nullopt;
      throw;
    }
    throw Error(ErrorKind::launch, "the server does not say what it has received",
                connection_.server().url);
  }

  const Connection& connection_;
  fs::path folder_;
  const std::function<void(std::uint64_t, std::uint64_t)>& progress_;
  std::uint64_t done_ = 0;
  std::string bundle_;  ///< of contents that go together
  std::map<std::string, const code::File*> bundled_;
};

}  // namespace

CodeUpload send_code(const Connection& connection, const fs::path& folder,
                     const code::Manifest& manifest,
                     const std::function<void(std::uint64_t, std::uint64_t)>& progress) {
  return CodeSender(connection, folder, progress).send(manifest);
}

}  // namespace assay::client
