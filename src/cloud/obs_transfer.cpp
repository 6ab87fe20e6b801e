// Transfers files to and from an object store, in one piece or in several parts at once.

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <future>
#include <mutex>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "cloud/etag.h"
#include "cloud/local_names.h"
#include "cloud/obs.h"
#include "cloud/part_hashes.h"
#include "cloud/service_error.h"
#include "cloud/service_xml.h"
#include "core/digest.h"
#include "core/error.h"
#include "core/files.h"
#include "core/json.h"
#include "core/json_access.h"
#include "core/parallel.h"
#include "core/parse_number.h"
#include "core/text.h"
#include "core/timed_stop.h"

namespace assay::cloud {

namespace {

constexpr Nanoseconds kWithdrawLimit = std::chrono::seconds(15);

std::uint64_t size_of(const std::filesystem::path& path) {
  std::error_code error;
  const std::uint64_t size = std::filesystem::file_size(path, error);
  if (error)
    throw system_error(ErrorKind::environment, "cannot read the file", path.string(),
                       error.value());
  return size;
}

/// Raw MD5 of a whole file.
std::string md5_of_file(const std::filesystem::path& path, std::uint64_t size) {
  if (size == 0) return digest(Hash::md5, "");
  return md5_of_parts(path, size, size + 1).front();
}

/// Stops the hashing, because the destructor of its future waits for its end.
struct StopOnExit {
  std::stop_source& source;
  explicit StopOnExit(std::stop_source& given) : source(given) {}
  StopOnExit(const StopOnExit&) = delete;
  StopOnExit& operator=(const StopOnExit&) = delete;
  ~StopOnExit() { source.request_stop(); }
};

/// Tracks how far each part of a file has arrived.
class Arrivals {
 public:
  explicit Arrivals(std::size_t parts) : arrived_(parts, 0) {}

  void add(std::size_t part, std::uint64_t bytes) {
    {
      const std::lock_guard lock(mutex_);
      arrived_[part] += bytes;
    }
    changed_.notify_all();
  }
  void wait(std::size_t part, std::uint64_t bytes, const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, stop, [&] { return arrived_[part] >= bytes; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::vector<std::uint64_t> arrived_;
};

bool is_md5(const std::string& etag) {
  return etag.size() == 32 && etag.find_first_not_of("0123456789abcdef") == std::string::npos;
}

/// An encrypted object's ETag is not its MD5.
bool etag_is_hash(const http::Response& response) {
  return response.header("x-obs-server-side-encryption").empty() &&
         response.header("x-amz-server-side-encryption").empty();
}

}  // namespace

bool begins_at(const http::Response& response, std::uint64_t offset) {
  constexpr std::string_view kUnit = "bytes";
  const std::string range = to_lower(response.header("content-range"));
  if (!range.starts_with(kUnit)) return false;
  const std::string_view from = trim(std::string_view(range).substr(kUnit.size()));
  return parse_number<std::uint64_t>(from.substr(0, from.find('-'))) == offset;
}

std::string etag_of_parts(const std::vector<std::string>& md5s) {
  std::string all;
  for (const auto& md5 : md5s) all += md5;
  return fmt::format("{}-{}", to_hex(digest(Hash::md5, all)), md5s.size());
}

std::uint64_t ObsBucket::part_size(std::uint64_t size) const {
  constexpr std::uint64_t kMaxParts = 10000;
  constexpr std::uint64_t kMebi = 1 << 20;
  if (size <= options_.part_size * kMaxParts) return options_.part_size;
  return ((size + kMaxParts - 1) / kMaxParts + kMebi - 1) / kMebi * kMebi;
}

std::string ObsBucket::etag_of(const std::filesystem::path& path) const {
  const std::uint64_t size = size_of(path);
  if (size < options_.multipart_from) return to_hex(md5_of_file(path, size));
  return etag_of_parts(md5_of_parts(path, size, part_size(size)));
}

http::ExchangeError ObsBucket::arrived_changed(const std::string& key, const std::string& ours,
                                               const std::string& theirs,
                                               const std::filesystem::path& path) const {
  if (theirs.empty())
    return http::ExchangeError(
        fmt::format("{} was answered without a hash (ETag)", describe("PUT", key)),
        request("PUT", key).host(),
        "the store or a proxy leaves it out: nobody knows whether the file arrived whole");
  return http::ExchangeError(
      fmt::format("{} arrived changed: its hash is {}, the service has {}", describe("PUT", key),
                  ours, theirs),
      request("PUT", key).host(),
      fmt::format("try again when nothing writes to {}; check the network and the memory",
                  path.string()));
}

ObjectInfo ObsBucket::put_file(const std::string& key, const std::filesystem::path& path,
                               const std::stop_token& stop) {
  const std::uint64_t size = size_of(path);
  if (size >= options_.multipart_from) return put_parts(key, path, size, stop);
  Digest md5(Hash::md5);
  http::Request put = request("PUT", key);
  put.body = http::FileSlice{path, 0, size};
  http::Exchange exchange;
  exchange.stop = stop;
  exchange.before_attempt = [&](http::Request&) { md5.reset(); };
  exchange.on_sent = [&](std::string_view piece) { md5.update(piece); };
  const http::Response response = send_or_throw(put, key, exchange);
  const std::string sent = to_hex(md5.finish());
  const std::string theirs = comparable_etag(response.header("etag"));
  if (etag_is_hash(response) && theirs != sent) throw arrived_changed(key, sent, theirs, path);
  return {key, size, theirs};
}

ObjectInfo ObsBucket::put_parts(const std::string& key, const std::filesystem::path& path,
                                std::uint64_t size, const std::stop_token& stop) {
  http::Request begin = request("POST", key);
  begin.query = {{"uploads", ""}};
  begin.repeatable = true;  // an extra upload is empty
  begin.set_header(options_.signing == ObsSigning::aws_v4 ? "x-amz-meta-assay-part-size"
                                                          : "x-obs-meta-assay-part-size",
                   fmt::format("{}", part_size(size)));
  http::Exchange exchange;
  exchange.stop = stop;
  const http::Response begun = send_or_throw(begin, key, exchange);
  pugi::xml_document document;
  (void)load_xml(document, begun.body);
  const std::string upload =
      document.child("InitiateMultipartUploadResult").child_value("UploadId");
  if (upload.empty()) throw unexpected_answer(client_, begun, describe("POST", key), begin.host());
  try {
    const std::uint64_t part = part_size(size);
    const auto count = static_cast<std::size_t>((size + part - 1) / part);
    std::vector<std::string> etags(count);
    std::atomic<bool> comparable = true;
    // Hashes during the transfer.
    std::stop_source hashing;
    auto hashes = std::async(std::launch::async, [&, token = hashing.get_token()] {
      return md5_of_parts(path, size, part, token);
    });
    const StopOnExit when_the_transfer_fails{hashing};
    run_parallel(count, options_.parallel, stop, [&](std::size_t i, const std::stop_token& inner) {
      http::Request put = request("PUT", key);
      put.query = {{"partNumber", fmt::format("{}", i + 1)}, {"uploadId", upload}};
      put.body = http::FileSlice{path, i * part, std::min(part, size - i * part)};
      http::Exchange transfer;
      transfer.stop = inner;
      const http::Response response = send_or_throw(put, key, transfer);
      etags[i] = comparable_etag(response.header("etag"));
      if (!etag_is_hash(response)) comparable = false;
    });
    const std::vector<std::string> md5s = hashes.get();
    for (std::size_t i = 0; i < count && comparable; ++i)
      if (etags[i] != to_hex(md5s[i])) throw arrived_changed(key, to_hex(md5s[i]), etags[i], path);
    const std::string expected = comparable ? etag_of_parts(md5s) : std::string();
    return {key, size, finish_upload(key, upload, etags, expected, stop)};
  } catch (...) {
    // Leftover parts cost money. `stop` is not passed on: it may have caused the failure.
    try {
      http::Request withdraw = request("DELETE", key);
      withdraw.query = {{"uploadId", upload}};
      const TimedStop bound({}, kWithdrawLimit);
      http::Exchange last;
      last.stop = bound.token();
      (void)send(withdraw, key, last);
    } catch (const Error&) {
    }
    throw;
  }
}

std::string ObsBucket::finish_upload(const std::string& key, const std::string& upload,
                                     const std::vector<std::string>& etags,
                                     const std::string& expected, const std::stop_token& stop) {
  std::string body = "<CompleteMultipartUpload>";
  for (std::size_t i = 0; i < etags.size(); ++i)
    body += fmt::format("<Part><PartNumber>{}</PartNumber><ETag>{}</ETag></Part>", i + 1, etags[i]);
  body += "</CompleteMultipartUpload>";
  http::Request finish = request("POST", key);
  finish.query = {{"uploadId", upload}};
  finish.set_header("Content-Type", "application/xml");
  finish.body = body;
  finish.repeatable = true;  // see below
  http::Exchange exchange;
  exchange.stop = stop;
  const http::Response response = send(finish, key, exchange);
  if (response.status == 404 && read_refusal(response).code == "NoSuchUpload") {
    // If the answer to an earlier try was lost, the object exists.
    const auto object = head(key, stop);
    if (object && !expected.empty() && object->etag == expected) return expected;
  }
  // The service may send 200 followed by an error in the body.
  pugi::xml_document document;
  (void)load_xml(document, response.body);
  if (!response.ok() || document.child("Error"))
    throw service_error(client_, response, describe("POST", key), finish.host());
  if (!document.child("CompleteMultipartUploadResult"))
    throw unexpected_answer(client_, response, describe("POST", key), finish.host());
  return comparable_etag(document.child("CompleteMultipartUploadResult").child_value("ETag"));
}

void ObsBucket::fetch_slice(const ObjectInfo& object, std::uint64_t offset, std::uint64_t size,
                            int file, const std::filesystem::path& path,
                            const std::function<void(std::uint64_t)>& written,
                            const std::stop_token& stop) {
  std::uint64_t done = 0;
  bool started = false;  // in one attempt
  http::Request ask = request("GET", object.key);
  // If the object changed meanwhile, the store refuses instead of mixing parts of two objects. A
  // weak ETag never matches here (RFC 9110, 13.1.1).
  if (!object.raw_etag.empty() && !object.raw_etag.starts_with("W/"))
    ask.set_header("If-Match", object.raw_etag);
  http::Exchange exchange;
  exchange.stop = stop;
  exchange.before_attempt = [&](http::Request& attempt) {
    started = false;
    attempt.set_header("Range", fmt::format("bytes={}-{}", offset + done, offset + size - 1));
  };
  exchange.receive = [&](const http::Response& reply, std::string_view piece) {
    if (reply.status != 206)
      throw http::ExchangeError(
          fmt::format("{} was answered with {}, not with 206 and these bytes",
                      describe("GET a range of", object.key), reply.status),
          ask.host(), "the store or a proxy ignores Range, which Assay needs: use another one");
    if (!started && !begins_at(reply, offset + done))
      throw http::ExchangeError(
          fmt::format("{} from byte {} on was answered with '{}'",
                      describe("GET a range of", object.key), offset + done,
                      printable(reply.header("content-range"))),
          ask.host(),
          "the store or a proxy gives other bytes than it is asked for: use another one");
    started = true;
    if (done + piece.size() > size)
      throw http::ExchangeError(fmt::format("{} gave more than the {} bytes that were asked for",
                                            describe("GET a range of", object.key), size),
                                ask.host(),
                                "the store or a proxy does not keep to Range, which Assay needs");
    std::string_view left = piece;
    while (!left.empty()) {
      const ssize_t n = ::pwrite(file, left.data(), left.size(), static_cast<off_t>(offset + done));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0)
        throw system_error(ErrorKind::environment, "cannot write the file", path.string(), errno);
      done += static_cast<std::uint64_t>(n);
      left.remove_prefix(static_cast<std::size_t>(n));
    }
    written(piece.size());
  };
  (void)send_or_throw(ask, object.key, exchange);
  if (done != size)
    throw http::ExchangeError(
        fmt::format("{} gave {} of {} bytes", describe("GET", object.key), done, size), ask.host());
}

ObjectInfo ObsBucket::head_or_throw(const std::string& key, const std::stop_token& stop) {
  const auto object = head(key, stop);
  if (object) return *object;
  http::Response missing;  // HEAD has no body; the text is the service's
  missing.status = 404;
  missing.body =
      "<Error><Code>NoSuchKey</Code><Message>The specified key does not exist."
      "</Message></Error>";
  throw service_error(client_, missing, describe("GET", key), request("GET", key).host());
}

std::uint64_t ObsBucket::get_file(const std::string& key, const std::filesystem::path& path,
                                  const std::stop_token& stop) {
  return fetch_object(head_or_throw(key, stop), path, stop);
}

std::uint64_t ObsBucket::get_listed(const ObjectInfo& listed, const std::filesystem::path& path,
                                    const std::stop_token& stop) {
  const ObjectInfo object = head_or_throw(listed.key, stop);
  if (object.size != listed.size)
    throw Error(ErrorKind::environment,
                fmt::format("{}/{} has {} bytes, and the store listed it with {}", bucket_,
                            printable(listed.key), object.size, listed.size),
                request("GET", listed.key).host(),
                "it was changed meanwhile, or the store's list is wrong: try again");
  return fetch_object(object, path, stop);
}

std::uint64_t ObsBucket::fetch_object(const ObjectInfo& object, const std::filesystem::path& path,
                                      const std::stop_token& stop) {
  const std::filesystem::path partial = path.string() + kPartialSuffix;
  const std::filesystem::path notes = path.string() + kNotesSuffix;
  const std::uint64_t part = object.size < options_.multipart_from
                                 ? std::max<std::uint64_t>(object.size, 1)
                                 : part_size(object.size);
  const auto count = static_cast<std::size_t>((object.size + part - 1) / part);
  const Json before = parse_json_or_null(read_file_or_empty(notes));
  const bool same = text_at(before, "etag") == object.etag &&
                    integer_at(before, "part_size", 0) == static_cast<std::int64_t>(part) &&
                    std::filesystem::exists(partial);
  std::vector<char> complete(count, 0);
  if (same)
    for (const auto& index : list_at(before, "complete"))
      if (index.is_number_unsigned() && index.get<std::size_t>() < count)
        complete[index.get<std::size_t>()] = 1;
  const UniqueFd file(::open(
      partial.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | (same ? 0 : O_TRUNC), 0644));
  if (!file || ::ftruncate(file.get(), static_cast<off_t>(object.size)) != 0)
    throw system_error(ErrorKind::environment, "cannot write the file", partial.string(), errno);
  Arrivals arrivals(count);
  // Hashes during the transfer, as in put_parts. Parts of unknown size, as sent by other programs,
  // cannot be checked.
  std::stop_source hashing;
  std::future<std::vector<std::string>> hashes;
  if (!object.encrypted && !is_md5(object.etag) && object.sent_part_size == part && count > 0)
    hashes = std::async(std::launch::async, [&, token = hashing.get_token()] {
      return md5_of_parts(partial, object.size, part, token,
                          [&](std::size_t i, std::uint64_t bytes, const std::stop_token& given_up) {
                            arrivals.wait(i, bytes, given_up);
                          });
    });
  const StopOnExit when_the_transfer_fails{hashing};
  std::mutex mutex;
  std::uint64_t fetched = 0;
  run_parallel(count, options_.parallel, stop, [&](std::size_t i, const std::stop_token& inner) {
    const std::uint64_t at = i * part;
    const std::uint64_t size = std::min(part, object.size - at);
    if (complete[i] != 0) {
      arrivals.add(i, size);
      return;
    }
    fetch_slice(
        object, at, size, file.get(), partial, [&](std::uint64_t bytes) { arrivals.add(i, bytes); },
        inner);
    const std::lock_guard lock(mutex);
    fetched += size;
    complete[i] = 1;
    if (count == 1) return;
    Json done = Json::array();
    for (std::size_t k = 0; k < count; ++k)
      if (complete[k] != 0) done.push_back(k);
    write_file_atomic(
        notes, dump_line({{"etag", object.etag}, {"part_size", part}, {"complete", done}}), false);
  });
  std::string actual;
  if (hashes.valid())
    actual = etag_of_parts(hashes.get());
  else if (!object.encrypted && is_md5(object.etag))
    actual = to_hex(md5_of_file(partial, object.size));
  std::error_code error;
  std::filesystem::remove(notes, error);
  if (!actual.empty() && actual != object.etag) {
    std::filesystem::remove(partial, error);
    throw http::ExchangeError(fmt::format("{} arrived changed: its hash is {}, the service has {}",
                                          describe("GET", object.key), actual, object.etag),
                              request("GET", object.key).host(),
                              "try again; check the network and the disk");
  }
  std::filesystem::rename(partial, path, error);
  if (error)
    throw system_error(ErrorKind::environment, "cannot write the file", path.string(),
                       error.value());
  return fetched;
}

}  // namespace assay::cloud
