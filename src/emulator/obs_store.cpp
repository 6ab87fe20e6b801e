#include "emulator/obs_store.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "core/digest.h"
#include "core/files.h"
#include "core/parse_number.h"
#include "core/time.h"
#include "emulator/cloud_accounts.h"
#include "emulator/xml_reply.h"
#include "http/date.h"

namespace assay::emulator {

namespace {

int number(const std::optional<std::string>& text, int fallback) {
  return parse_number<int>(text.value_or("")).value_or(fallback);
}

std::map<std::string, std::string> metadata_of(const ServerRequest& request) {
  std::map<std::string, std::string> out;
  for (const auto& header : request.headers)
    if (header.first.starts_with("x-obs-meta-") || header.first.starts_with("x-amz-meta-"))
      out.insert(header);
  return out;
}

struct Range {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
};

/// The range in "bytes=…"; nothing if it cannot be satisfied.
std::optional<Range> parse_range(std::string_view text, std::uint64_t size) {
  text.remove_prefix(std::min<std::size_t>(6, text.size()));
  const std::size_t dash = text.find('-');
  if (dash == std::string_view::npos || size == 0) return std::nullopt;
  const auto value = [](std::string_view digits, std::uint64_t fallback) {
    return parse_number<std::uint64_t>(digits).value_or(fallback);
  };
  if (dash == 0) {
    const std::uint64_t tail = std::min(value(text.substr(1), 0), size);
    if (tail == 0) return std::nullopt;
    return Range{size - tail, size - 1};
  }
  const Range range{value(text.substr(0, dash), size),
                    std::min(value(text.substr(dash + 1), size - 1), size - 1)};
  if (range.first >= size || range.first > range.last) return std::nullopt;
  return range;
}

/// The parts named by a CompleteMultipartUpload, in its order; tags without quotes. Empty if the
/// body is not one.
std::vector<std::pair<int, std::string>> named_parts(const std::string& body) {
  std::vector<std::pair<int, std::string>> parts;
  pugi::xml_document document;
  if (!document.load_buffer(body.data(), body.size())) return parts;
  for (const pugi::xml_node part : document.child("CompleteMultipartUpload").children("Part")) {
    std::string tag = part.child_value("ETag");
    std::erase(tag, '"');
    parts.emplace_back(part.child("PartNumber").text().as_int(), std::move(tag));
  }
  return parts;
}

}  // namespace

ObsStore::ObsStore(const Settings& settings) : data_(settings.root / "objects") {
  make_directories(data_);
  for (const auto& bucket : settings.buckets) buckets_[bucket];
  // Keeps what an earlier emulator left in the folder, and does not reuse its numbers.
  for (const auto& entry : std::filesystem::directory_iterator(data_))
    last_file_ =
        std::max(last_file_.load(),
                 parse_number<std::uint64_t>(entry.path().filename().string()).value_or(0));
}

std::filesystem::path ObsStore::new_file() {
  return data_ / fmt::format("{}", ++last_file_);
}

bool ObsStore::has(const std::string& bucket, const std::string& key) {
  const std::lock_guard lock(mutex_);
  const auto at = buckets_.find(bucket);
  return at != buckets_.end() && at->second.contains(key);
}

bool ObsStore::has_prefix(const std::string& bucket, const std::string& prefix) {
  const std::lock_guard lock(mutex_);
  const auto at = buckets_.find(bucket);
  if (at == buckets_.end()) return false;
  const auto first = at->second.lower_bound(prefix);
  return first != at->second.end() && first->first.starts_with(prefix);
}

ObsStore::Segment ObsStore::keep(ServerRequest& request) {
  return {std::exchange(request.body_file, {}), request.body_size};
}

void ObsStore::forget(const std::vector<Segment>& segments) {
  std::error_code ignored;
  for (const auto& segment : segments) std::filesystem::remove(segment.file, ignored);
}

void ObsStore::put_text(const std::string& bucket, const std::string& key,
                        const std::string& content) {
  const std::lock_guard lock(mutex_);
  const Segment segment{new_file(), content.size()};
  write_file_atomic(segment.file, content, false);
  Object& object = buckets_[bucket][key];
  forget(object.segments);
  object = {{segment}, content.size(), to_hex(digest(Hash::md5, content)), wall_now_ns(), {}};
}

ServerResponse ObsStore::handle(ServerRequest& request, const std::string& bucket,
                                const std::string& key) {
  const std::lock_guard lock(mutex_);
  if (bucket.empty()) return list_buckets(request);
  if (key.empty()) return bucket_operation(request, bucket);
  const auto found = buckets_.find(bucket);
  if (found == buckets_.end())
    return obs_error(404, "NoSuchBucket", "The specified bucket does not exist.", bucket);
  Objects& objects = found->second;
  if (request.method == "POST" && request.parameter("uploads"))
    return begin_upload(request, bucket, key);
  if (request.parameter("uploadId")) return upload_operation(request, objects, bucket, key);
  if (request.parameter("acl")) return acl(request);
  if (request.method == "PUT") return put(request, objects, key);
  const auto object = objects.find(key);
  if (request.method == "DELETE") {
    if (object != objects.end()) {
      forget(object->second.segments);
      objects.erase(object);
    }
    ServerResponse response;
    response.status = 204;
    return response;
  }
  if (request.method != "GET" && request.method != "HEAD")
    return obs_error(405, "MethodNotAllowed", "The specified method is not allowed.", key);
  if (object == objects.end())
    return obs_error(404, "NoSuchKey", "The specified key does not exist.", key);
  return get(request, object->second);
}

ServerResponse ObsStore::get(const ServerRequest& request, const Object& object) const {
  ServerResponse response;
  response.headers.emplace_back("ETag", "\"" + object.etag + "\"");
  response.headers.emplace_back("Content-Type", "binary/octet-stream");
  response.headers.emplace_back("Accept-Ranges", "bytes");
  response.headers.emplace_back("Last-Modified", http::http_date(object.modified_ns));
  for (const auto& [name, value] : object.metadata) response.headers.emplace_back(name, value);
  const std::string wanted = request.header("if-match");
  if (!wanted.empty() && wanted != "\"" + object.etag + "\"" && wanted != object.etag)
    return obs_error(412, "PreconditionFailed", "At least one of the preconditions did not hold.");
  Range range{0, object.size == 0 ? 0 : object.size - 1};
  std::uint64_t size = object.size;
  if (const std::string text = request.header("range"); text.starts_with("bytes=")) {
    const auto asked = parse_range(text, object.size);
    if (!asked) return obs_error(416, "InvalidRange", "The requested range is not satisfiable");
    range = *asked;
    size = range.last - range.first + 1;
    response.status = 206;
    response.headers.emplace_back(
        "Content-Range", fmt::format("bytes {}-{}/{}", range.first, range.last, object.size));
  }
  if (request.method == "HEAD") {
    response.content_length = size;
    return response;
  }
  std::uint64_t skip = range.first;
  for (const auto& segment : object.segments) {
    if (skip >= segment.size) {
      skip -= segment.size;
      continue;
    }
    const std::uint64_t part = std::min(size, segment.size - skip);
    if (part > 0) response.files.push_back({segment.file, skip, part});
    size -= part;
    skip = 0;
  }
  return response;
}

ServerResponse ObsStore::put(ServerRequest& request, Objects& objects, const std::string& key) {
  if (request.header("content-length").empty())
    return obs_error(411, "MissingContentLength", "You must provide the Content-Length header.");
  const std::string md5 = request.header("content-md5");
  if (!md5.empty() && md5 != to_base64(request.body_md5))
    return obs_error(400, "BadDigest", "The Content-MD5 you specified did not match.");
  Object& object = objects[key];
  forget(object.segments);
  const std::string etag = to_hex(request.body_md5);
  object = {{keep(request)}, request.body_size, etag, wall_now_ns(), metadata_of(request)};
  ServerResponse response;
  response.headers.emplace_back("ETag", "\"" + etag + "\"");
  return response;
}

ServerResponse ObsStore::begin_upload(const ServerRequest& request, const std::string& bucket,
                                      const std::string& key) {
  const std::string id = fmt::format("upload{:08}", ++next_upload_);
  uploads_[id] = {bucket, key, metadata_of(request), {}};
  pugi::xml_document document;
  pugi::xml_node result = document.append_child("InitiateMultipartUploadResult");
  add_text(result, "Bucket", bucket);
  add_text(result, "Key", key);
  add_text(result, "UploadId", id);
  return xml_reply(document);
}

ServerResponse ObsStore::upload_operation(ServerRequest& request, Objects& objects,
                                          const std::string& bucket, const std::string& key) {
  const std::string id = *request.parameter("uploadId");
  const auto found = uploads_.find(id);
  if (found == uploads_.end() || found->second.bucket != bucket || found->second.key != key)
    return obs_error(404, "NoSuchUpload", "The specified multipart upload does not exist.", key);
  if (request.method == "PUT") return put_part(request, found->second);
  if (request.method == "POST") return complete(request, objects, id);
  if (request.method == "DELETE") {
    for (const auto& [part_number, part] : found->second.parts) forget({part.segment});
    uploads_.erase(found);
    ServerResponse response;
    response.status = 204;
    return response;
  }
  pugi::xml_document document;
  pugi::xml_node result = document.append_child("ListPartsResult");
  add_text(result, "UploadId", id);
  add_text(result, "IsTruncated", "false");
  for (const auto& [part_number, part] : found->second.parts) {
    pugi::xml_node item = result.append_child("Part");
    add_text(item, "PartNumber", std::to_string(part_number));
    add_text(item, "ETag", '"' + to_hex(part.md5) + '"');
    add_text(item, "Size", std::to_string(part.segment.size));
  }
  return xml_reply(document);
}

ServerResponse ObsStore::put_part(ServerRequest& request, Upload& upload) {
  const int part_number = number(request.parameter("partNumber"), 0);
  if (part_number < 1 || part_number > 10000)
    return obs_error(400, "InvalidArgument", "partNumber must be 1 to 10000");
  Part& part = upload.parts[part_number];
  if (part.segment.size > 0) forget({part.segment});
  part = {keep(request), request.body_md5};
  ServerResponse response;
  response.headers.emplace_back("ETag", "\"" + to_hex(part.md5) + "\"");
  return response;
}

ServerResponse ObsStore::complete(const ServerRequest& request, Objects& objects,
                                  const std::string& id) {
  Upload& upload = uploads_.at(id);
  const auto named = named_parts(request.body);
  if (named.empty())
    return obs_error(400, "MalformedXML", "The XML you provided was not well-formed.");
  Object object;
  std::string tags;
  for (std::size_t i = 0; i < named.size(); ++i) {
    const auto part = upload.parts.find(named[i].first);
    if (part == upload.parts.end() || to_hex(part->second.md5) != named[i].second)
      return obs_error(400, "InvalidPart", "One or more of the specified parts was not found.");
    if (i > 0 && named[i].first <= named[i - 1].first)
      return obs_error(400, "InvalidPartOrder", "The list of parts was not in ascending order.");
    if (i + 1 < named.size() && part->second.segment.size < 100 << 10)
      return obs_error(400, "EntityTooSmall", "A part is smaller than the minimum of 100 KB.");
    object.segments.push_back(part->second.segment);
    object.size += part->second.segment.size;
    tags += part->second.md5;
  }
  object.etag = fmt::format("{}-{}", to_hex(digest(Hash::md5, tags)), named.size());
  object.modified_ns = wall_now_ns();
  object.metadata = upload.metadata;
  Object& place = objects[upload.key];
  forget(place.segments);
  place = object;
  pugi::xml_document document;
  pugi::xml_node result = document.append_child("CompleteMultipartUploadResult");
  add_text(result, "Location", fmt::format("/{}/{}", upload.bucket, upload.key));
  add_text(result, "Bucket", upload.bucket);
  add_text(result, "Key", upload.key);
  add_text(result, "ETag", '"' + object.etag + '"');
  uploads_.erase(id);
  return xml_reply(document);
}

}  // namespace assay::emulator
