#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "cloud/credentials.h"
#include "core/error.h"
#include "http/client.h"
#include "http/exchange_error.h"

namespace assay::cloud {

enum class ObsSigning { obs, aws_v4 };

struct ObsOptions {
  std::string endpoint;     ///< "https://obs.cn-north-4.myhuaweicloud.com", without the bucket
  bool path_style = false;  ///< https://endpoint/bucket/key; always used if the host is an address
  ObsSigning signing = ObsSigning::obs;
  std::string region;  ///< for aws_v4
  /// Larger objects are transferred in parts of `part_size`, several at once.
  std::uint64_t multipart_from = 64ULL << 20;
  std::uint64_t part_size = 32ULL << 20;  ///< enlarged if 10,000 parts would not suffice
  int parallel = 8;                       ///< concurrent transfers
};

struct ObjectInfo {
  std::string key;
  std::uint64_t size = 0;
  /// In comparable form (etag.h): the MD5 in hex; for an object sent in N parts, the MD5 of their
  /// MD5s and "-N".
  std::string etag;
  std::string modified{};            ///< as written by the service
  bool encrypted = false;            ///< by the service; the ETag is then not an MD5. Set by head()
  std::uint64_t sent_part_size = 0;  ///< of put_file's parts; 0 when unknown. Set by head()
  std::string raw_etag{};            ///< as written by the service. Set by head()
};

/// The content at a place in a bucket.
struct Listing {
  std::vector<ObjectInfo> objects;
  std::vector<std::string> folders;  ///< common prefixes of deeper keys, up to the delimiter
};

/// A bucket of an object store. Thread-safe. Every method throws an Error that names the bucket and
/// key: ServiceError if the service refused, kind environment if there was no answer or a file
/// could not be read or written.
class ObsBucket {
 public:
  /// `client` and `credentials` must outlive this.
  ObsBucket(http::Client& client, CredentialSource& credentials, ObsOptions options,
            std::string bucket);

  [[nodiscard]] const std::string& name() const noexcept { return bucket_; }
  [[nodiscard]] const ObsOptions& options() const noexcept { return options_; }

  /// Sends small content from memory with its MD5, which the service verifies.
  ObjectInfo put(const std::string& key, const std::string& content,
                 const std::stop_token& stop = {});
  /// Sends a file while reading it, and verifies by MD5 what arrived. Withdraws a multipart upload
  /// that fails.
  ObjectInfo put_file(const std::string& key, const std::filesystem::path& path,
                      const std::stop_token& stop = {});

  [[nodiscard]] std::optional<ObjectInfo> head(const std::string& key,
                                               const std::stop_token& stop = {});
  /// Gets a small object, or at most `size` bytes (0: up to the end) from `offset` on. Empty if
  /// `offset` is at or beyond the end.
  [[nodiscard]] std::string get(const std::string& key, std::uint64_t offset = 0,
                                std::uint64_t size = 0, const std::stop_token& stop = {});
  /// Downloads an object to a file. Resumes a broken connection where it broke; after the process
  /// was killed, complete parts (kept beside `path`, local_names.h) are not fetched again. `path`
  /// appears only once it is complete and its MD5 is right. Returns the number of bytes fetched
  /// now.
  std::uint64_t get_file(const std::string& key, const std::filesystem::path& path,
                         const std::stop_token& stop = {});
  /// The same for an object from list(); it is an error if its size has changed.
  std::uint64_t get_listed(const ObjectInfo& listed, const std::filesystem::path& path,
                           const std::stop_token& stop = {});

  /// Every object whose key starts with `prefix`, in order, with `page` (1 … 1000) per request. It
  /// is an error if the store lists anything else, or something twice (listing.h).
  [[nodiscard]] std::vector<ObjectInfo> list(const std::string& prefix,
                                             const std::stop_token& stop = {}, int page = 1000);
  /// The same up to the next `delimiter`: deeper levels count as folders. Empty: lists all.
  [[nodiscard]] Listing list_folder(const std::string& prefix, const std::string& delimiter,
                                    const std::stop_token& stop = {}, int page = 1000);
  /// Removes an object; a missing one is not an error.
  void remove(const std::string& key, const std::stop_token& stop = {});

  /// Throws if the bucket does not exist or access is denied.
  void check(const std::stop_token& stop = {});
  void create();

  /// A link that allows its holder `method` on `key` for `seconds`; treat it as a secret.
  [[nodiscard]] std::string signed_url(const std::string& method, const std::string& key,
                                       int seconds);

  /// The size of the parts in which an object of `size` bytes is sent.
  [[nodiscard]] std::uint64_t part_size(std::uint64_t size) const;
  /// The ETag that the file would have after put_file.
  [[nodiscard]] std::string etag_of(const std::filesystem::path& path) const;

 private:
  [[nodiscard]] http::Request request(const std::string& method, const std::string& key) const;
  [[nodiscard]] http::Response send(const http::Request& request, const std::string& key,
                                    http::Exchange exchange);
  [[nodiscard]] http::Response send_or_throw(const http::Request& request, const std::string& key,
                                             http::Exchange exchange);
  [[nodiscard]] std::string describe(const std::string& method, const std::string& key) const;
  ObjectInfo put_parts(const std::string& key, const std::filesystem::path& path,
                       std::uint64_t size, const std::stop_token& stop);
  /// `etags` are the service's; `expected` may be empty if unknown.
  std::string finish_upload(const std::string& key, const std::string& upload,
                            const std::vector<std::string>& etags, const std::string& expected,
                            const std::stop_token& stop);
  /// The object's current state; it is an error if there is none.
  [[nodiscard]] ObjectInfo head_or_throw(const std::string& key, const std::stop_token& stop);
  std::uint64_t fetch_object(const ObjectInfo& object, const std::filesystem::path& path,
                             const std::stop_token& stop);
  /// Calls `written` for every piece once it is in the file.
  void fetch_slice(const ObjectInfo& object, std::uint64_t offset, std::uint64_t size, int file,
                   const std::filesystem::path& path,
                   const std::function<void(std::uint64_t bytes)>& written,
                   const std::stop_token& stop);
  [[nodiscard]] http::ExchangeError arrived_changed(const std::string& key, const std::string& ours,
                                                    const std::string& theirs,
                                                    const std::filesystem::path& path) const;

  http::Client& client_;
  CredentialSource& credentials_;
  ObsOptions options_;
  std::string bucket_;
  std::string origin_;
  std::string base_path_;  // "/" or "/bucket/"
};

/// Whether a 206 response states that its bytes begin at `offset` (Content-Range).
[[nodiscard]] bool begins_at(const http::Response& response, std::uint64_t offset);

/// The ETag of an object sent in parts: "…-N". `md5s` are raw.
[[nodiscard]] std::string etag_of_parts(const std::vector<std::string>& md5s);

}  // namespace assay::cloud
