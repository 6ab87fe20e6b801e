#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "core/time.h"
#include "emulator/emulator_settings.h"
#include "emulator/streaming_server.h"

namespace assay::emulator {

/// Buckets and objects. Contents are files below Settings::root; the index is in memory.
/// Thread-safe.
class ObsStore {
 public:
  explicit ObsStore(const Settings& settings);

  /// A unique name for a body that may become an object.
  [[nodiscard]] std::filesystem::path new_file();

  /// Answers an authorized request. `key` is empty for operations on the bucket itself.
  [[nodiscard]] ServerResponse handle(ServerRequest& request, const std::string& bucket,
                                      const std::string& key);

  [[nodiscard]] bool has(const std::string& bucket, const std::string& key);
  /// Whether any object's key starts with `prefix`.
  [[nodiscard]] bool has_prefix(const std::string& bucket, const std::string& prefix);
  void put_text(const std::string& bucket, const std::string& key, const std::string& content);
  /// Stores a copy of the current `file`. Returns false if it is gone; throws Error of kind
  /// environment if it cannot be copied.
  bool put_file(const std::string& bucket, const std::string& key,
                const std::filesystem::path& file);
  /// Copies every object whose key starts with `prefix` to files below `folder`, and returns their
  /// number. Skips keys that would lead out of the folder. Throws Error of kind environment.
  std::size_t fetch(const std::string& bucket, const std::string& prefix,
                    const std::filesystem::path& folder);

 private:
  struct Segment {
    std::filesystem::path file;
    std::uint64_t size = 0;
  };
  struct Object {
    std::vector<Segment> segments;  // more than one after a multipart upload
    std::uint64_t size = 0;
    std::string etag;  // without quotes
    std::int64_t modified_ns = 0;
    std::map<std::string, std::string> metadata;  // x-obs-meta-…, x-amz-meta-…
  };
  struct Part {
    Segment segment;
    std::string md5;  // raw
  };
  struct Upload {
    std::string bucket, key;
    std::map<std::string, std::string> metadata;
    std::map<int, Part> parts;
  };
  using Objects = std::map<std::string, Object>;

  ServerResponse list_buckets(const ServerRequest& request) const;
  ServerResponse acl(const ServerRequest& request) const;
  ServerResponse delete_many(const ServerRequest& request, Objects& objects);
  ServerResponse bucket_operation(ServerRequest& request, const std::string& bucket);
  ServerResponse list(const ServerRequest& request, const std::string& bucket,
                      const Objects& objects) const;
  ServerResponse get(const ServerRequest& request, const Object& object) const;
  ServerResponse put(ServerRequest& request, Objects& objects, const std::string& key);
  ServerResponse begin_upload(const ServerRequest& request, const std::string& bucket,
                              const std::string& key);
  ServerResponse upload_operation(ServerRequest& request, Objects& objects,
                                  const std::string& bucket, const std::string& key);
  ServerResponse put_part(ServerRequest& request, Upload& upload);
  ServerResponse complete(const ServerRequest& request, Objects& objects, const std::string& id);
  Segment keep(ServerRequest& request);
  void forget(const std::vector<Segment>& segments);

  std::filesystem::path data_;
  std::mutex mutex_;
  const std::int64_t started_ns_ = wall_now_ns();
  std::atomic<std::uint64_t> last_file_ = 0;
  std::uint64_t next_upload_ = 0;
  std::map<std::string, Objects> buckets_;
  std::map<std::string, Upload> uploads_;  // by id
};

}  // namespace assay::emulator
