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
  bool path_style = false;  ///< https://endpoint/bucket/key; always so when the host is an address
  ObsSigning signing = ObsSigning::obs;
  std::string region;  ///< for aws_v4
  /// Larger objects are sent and fetched in parts of `part_size`, several at once.
  std::uint64_t multipart_from = 64ULL << 20;
  std::uint64_t part_size = 32ULL << 20;  ///< grows where 10,000 parts would not do
  int parallel = 8;                       ///< transfers at once
};

struct ObjectInfo {
  std::string key;
  std::uint64_t size = 0;
  /// As it is compared (etag.h): the MD5 in hex; for an object sent in N parts, the MD5 of their
  /// MD5s and "-N".
  std::string etag;
  std::string modified{};  ///< as the service writes it
  bool encrypted = false;  ///< by the service; the ETag is then not an MD5. Known from head()
  std::uint64_t sent_part_size = 0;  ///< of put_file's parts; 0 when not known. Known from head()
  std::string raw_etag{};            ///< as the service writes it. Known from head()
};

/// What is at a place of a bucket.
struct Listing {
  std::vector<ObjectInfo> objects;
  std::vector<std::string> folders;  ///< what the keys below have in common, up to the delimiter
};

/// One bucket of an object store. Thread-safe. Every method throws an Error that names the bucket
/// and key: ServiceError when the service refused, kind environment when there was no answer or a
/// file could not be read or written.
class ObsBucket {
 public:
  /// `client` and `credentials` must outlive it.
  ObsBucket(http::Client& client, CredentialSource& credentials, ObsOptions options,
            std::string bucket);

  [[nodiscard]] const std::string& name() const noexcept { return bucket_; }
  [[nodiscard]] const ObsOptions& options() const noexcept { return options_; }

  /// Sends small content from memory with its MD5, which the service checks.
  ObjectInfo put(const std::string& key, const std::string& content,
                 const std::stop_token& stop = {});
  /// Sends a file while reading it, and checks by MD5 what arrived. A multipart upload that fails
  /// is withdrawn.
  ObjectInfo put_file(const std::string& key, const std::filesystem::path& path,
                      const std::stop_token& stop = {});

  [[nodiscard]] std::optional<ObjectInfo> head(const std::string& key,
                                               const std::stop_token& stop = {});
  /// Gets a small object whole, or its bytes from `offset` on (at most `size`; 0 is to the end).
  /// Empty when `offset` is the end or beyond.
  [[nodiscard]] std::string get(const std::string& key, std::uint64_t offset = 0,
                                std::uint64_t size = 0, const std::stop_token& stop = {});
  /// Gets an object into a file. A broken connection is resumed where it broke, and after the
  /// process was killed, complete parts (kept beside `path`, local_names.h) are not fetched again.
  /// `path` appears only when it is whole and its MD5 is right. Returns the bytes that were fetched
  /// now.
  std::uint64_t get_file(const std::string& key, const std::filesystem::path& path,
                         const std::stop_token& stop = {});
  /// The same with an object of list(): it is an error when it has another size now.
  std::uint64_t get_listed(const ObjectInfo& listed, const std::filesystem::path& path,
                           const std::stop_token& stop = {});

  /// Every object whose key starts with `prefix`, in order, `page` (1 … 1000) per request. A store
  /// that lists anything else, or something twice, is an error (listing.h).
  [[nodiscard]] std::vector<ObjectInfo> list(const std::string& prefix,
                                             const std::stop_token& stop = {}, int page = 1000);
  /// The same up to the next `delimiter`: what is deeper counts as a folder. An empty one: all.
  [[nodiscard]] Listing list_folder(const std::string& prefix, const std::string& delimiter,
                                    const std::stop_token& stop = {}, int page = 1000);
  /// Removes an object; it is not an error when there is none.
  void remove(const std::string& key, const std::stop_token& stop = {});

  /// Throws when the bucket does not exist or may not be used.
  void check(const std::stop_token& stop = {});
  void create();

  /// A link that allows its holder `method` on `key` for `seconds`: treat it as a secret.
  [[nodiscard]] std::string signed_url(const std::string& method, const std::string& key,
                                       int seconds);

  /// The size of the parts in which an object of `size` bytes is sent.
  [[nodiscard]] std::uint64_t part_size(std::uint64_t size) const;
  /// The ETag that the file has when put_file has sent it.
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
  /// `etags` as the service gave them; `expected` may be empty when it cannot be known.
  std::string finish_upload(const std::string& key, const std::string& upload,
                            const std::vector<std::string>& etags, const std::string& expected,
                            const std::stop_token& stop);
  /// What the object is now; it is an error when there is none.
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

/// Whether a 206 says that its bytes begin at `offset` (Content-Range).
[[nodiscard]] bool begins_at(const http::Response& response, std::uint64_t offset);

/// The ETag of an object that was sent in parts: "…-N". `md5s` are raw.
[[nodiscard]] std::string etag_of_parts(const std::vector<std::string>& md5s);

}  // namespace assay::cloud
