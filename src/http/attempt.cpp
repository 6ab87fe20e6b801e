#include "http/attempt.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include <fcntl.h>
#include <fmt/format.h>
#include <pthread.h>
#include <unistd.h>

#include "core/error.h"
#include "core/files.h"
#include "core/parse_number.h"
#include "core/text.h"
#include "core/units.h"
#include "core/version.h"
#include "http/date.h"
#include "http/exchange_error.h"

namespace assay::http {

namespace {

/// OpenSSL writes to sockets that may have been closed, and the signal must not end the program.
class WithoutSigpipe {
 public:
  WithoutSigpipe() {
    ::sigemptyset(&pipe_);
    ::sigaddset(&pipe_, SIGPIPE);
    ::pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  WithoutSigpipe(const WithoutSigpipe&) = delete;
  WithoutSigpipe& operator=(const WithoutSigpipe&) = delete;
  ~WithoutSigpipe() {
    if (::sigismember(&before_, SIGPIPE) == 0) {
      const timespec at_once{};
      while (::sigtimedwait(&pipe_, nullptr, &at_once) < 0 && errno == EINTR) {
      }
    }
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

 private:
  sigset_t pipe_{};
  sigset_t before_{};
};

struct Running {
  const ClientOptions& options;
  const Request& request;
  const Exchange& exchange;
  std::int64_t deadline_ns;
  Outcome outcome;
  UniqueFd file;
  std::string small_body{};  // read beforehand, sent together with the head
  std::uint64_t body_size = 0;
  std::uint64_t sent = 0;
  std::int64_t begun_ns = mono_now_ns();
  std::string too_slow{};  // why it was ended

  void fail() {
    if (!outcome.thrown) outcome.thrown = std::current_exception();
  }
};

/// Reads at least one byte of the slice, starting at `from`. Throws Error if there is none.
std::size_t read_slice(const UniqueFd& file, const FileSlice& slice, std::uint64_t from,
                       char* buffer, std::size_t wanted) {
  ssize_t n = 0;
  do {
    n = ::pread(file.get(), buffer, wanted, static_cast<off_t>(slice.offset + from));
  } while (n < 0 && errno == EINTR);
  if (n < 0)
    throw system_error(ErrorKind::environment, "cannot read the file", slice.path.string(), errno);
  if (n == 0)
    throw Error(ErrorKind::environment, "the file became shorter while it was sent",
                slice.path.string(), "send it when nothing writes to it");
  return static_cast<std::size_t>(n);
}

std::size_t read_body(char* buffer, std::size_t size, std::size_t count, void* user) {
  auto& running = *static_cast<Running*>(user);
  const std::uint64_t left = running.body_size - running.sent;
  std::size_t wanted = static_cast<std::size_t>(std::min<std::uint64_t>(left, size * count));
  if (wanted == 0) return 0;
  running.outcome.was_sent = true;
  if (const auto* text = std::get_if<std::string>(&running.request.body)) {
    std::memcpy(buffer, text->data() + running.sent, wanted);
  } else {
    try {
      wanted = read_slice(running.file, std::get<FileSlice>(running.request.body), running.sent,
                          buffer, wanted);
    } catch (...) {
      running.fail();
      return CURL_READFUNC_ABORT;
    }
  }
  running.sent += wanted;
  if (running.exchange.on_sent) running.exchange.on_sent({buffer, wanted});
  return wanted;
}

int seek_body(void* user, curl_off_t offset, int origin) {
  if (origin != SEEK_SET || offset != 0) return CURL_SEEKFUNC_CANTSEEK;
  // libcurl starts over if a kept connection was closed, and a listener would have to as well.
  // Without a listener that is harmless; with one, the caller's next attempt starts cleanly.
  auto& running = *static_cast<Running*>(user);
  if (running.exchange.on_sent && running.sent > 0) return CURL_SEEKFUNC_FAIL;
  running.sent = 0;
  return CURL_SEEKFUNC_OK;
}

std::size_t read_header(char* data, std::size_t size, std::size_t count, void* user) {
  auto& running = *static_cast<Running*>(user);
  running.outcome.was_sent = true;
  const std::string_view line = trim(std::string_view(data, size * count));
  auto& response = running.outcome.response;
  if (line.starts_with("HTTP/")) {  // even after "100 Continue"
    response = {};
    const std::vector<std::string_view> words = split(line, ' ');
    if (words.size() > 1) response.status = parse_number<int>(words[1], 100, 999).value_or(0);
  } else if (const std::size_t colon = line.find(':'); colon != std::string_view::npos) {
    response.headers.emplace_back(to_lower(line.substr(0, colon)), trim(line.substr(colon + 1)));
  }
  return size * count;
}

std::size_t read_reply(char* data, std::size_t size, std::size_t count, void* user) {
  auto& running = *static_cast<Running*>(user);
  auto& response = running.outcome.response;
  const std::string_view piece(data, size * count);
  try {
    if (running.exchange.receive && response.ok()) {
      running.exchange.receive(response, piece);
    } else {
      if (response.body.size() + piece.size() > running.options.max_body)
        throw ExchangeError("the reply is too large to keep in memory", running.request.host());
      response.body += piece;
    }
  } catch (...) {
    running.fail();
    return 0;
  }
  return piece.size();
}

/// libcurl calls this at least once a second. A nonzero result ends the attempt.
int look_for_end(void* user, curl_off_t, curl_off_t received, curl_off_t, curl_off_t sent) {
  auto& running = *static_cast<Running*>(user);
  if (running.exchange.stop.stop_requested()) return 1;
  if (mono_now_ns() >= running.deadline_ns) {
    running.too_slow =
        fmt::format("not answered in {}", format_duration(running.options.total_limit));
    return 1;
  }
  if (running.exchange.open_ended) return 0;
  const Nanoseconds taken(mono_now_ns() - running.begun_ns);
  const double bytes = static_cast<double>(received) + static_cast<double>(sent);
  const double rate = std::max(1.0, static_cast<double>(running.options.min_rate));
  if (seconds(taken) <= seconds(running.options.stall_timeout) + bytes / rate) return 0;
  running.too_slow =
      fmt::format("{:.0f} bytes in {}, which is too slow", bytes, format_duration(taken));
  return 1;
}

std::string full_url(const Request& request) {
  std::string url = request.origin + percent_encode(request.path, true);
  if (!request.query.empty()) url += "?" + encode_query(request.query);
  return url;
}

class HeaderList {
 public:
  HeaderList() = default;
  HeaderList(const HeaderList&) = delete;
  HeaderList& operator=(const HeaderList&) = delete;
  ~HeaderList() { curl_slist_free_all(list_); }
  void add(const std::string& line) {
    if (curl_slist* longer = curl_slist_append(list_, line.c_str())) list_ = longer;
  }
  [[nodiscard]] curl_slist* get() const { return list_; }

 private:
  curl_slist* list_ = nullptr;
};

/// libcurl sends a body of up to this size together with the head: one packet and one turn of the
/// server less than a body it asks for.
constexpr std::uint64_t kSmallBody = 32 << 10;

void send_with_head(CURL* curl, Running& running, HeaderList& headers) {
  const Request& request = running.request;
  std::string_view body;
  if (const auto* text = std::get_if<std::string>(&request.body)) {
    body = *text;
  } else {
    const auto& slice = std::get<FileSlice>(request.body);
    running.small_body.resize(slice.size);
    for (std::size_t done = 0; done < slice.size;)
      done += read_slice(running.file, slice, done, running.small_body.data() + done,
                         running.small_body.size() - done);
    body = running.small_body;
  }
  if (running.exchange.on_sent && !body.empty()) running.exchange.on_sent(body);
  curl_easy_setopt(curl, CURLOPT_POST, 1L);
  curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body.size()));
  curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body.data());
  // Otherwise libcurl would call it a form's.
  const bool has_type = std::ranges::any_of(
      request.headers, [](const auto& header) { return to_lower(header.first) == "content-type"; });
  if (!has_type) headers.add("Content-Type:");
}

void set_up_body(CURL* curl, Running& running, HeaderList& headers) {
  const Request& request = running.request;
  if (const auto* slice = std::get_if<FileSlice>(&request.body)) {
    running.file.reset(::open(slice->path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!running.file)
      throw system_error(ErrorKind::environment, "cannot read the file", slice->path.string(),
                         errno);
    running.body_size = slice->size;
  } else {
    running.body_size = std::get<std::string>(request.body).size();
  }
  const bool carries = running.body_size > 0 || request.method == "PUT" ||
                       request.method == "POST" || request.method == "PATCH";
  if (request.method == "HEAD") {
    curl_easy_setopt(curl, CURLOPT_NOBODY, 1L);
  } else if (carries) {
    headers.add("Expect:");
    if (running.body_size <= kSmallBody) {
      send_with_head(curl, running, headers);
    } else {
      curl_easy_setopt(curl, CURLOPT_UPLOAD, 1L);
      curl_easy_setopt(curl, CURLOPT_INFILESIZE_LARGE, static_cast<curl_off_t>(running.body_size));
      curl_easy_setopt(curl, CURLOPT_READFUNCTION, &read_body);
      curl_easy_setopt(curl, CURLOPT_READDATA, &running);
      curl_easy_setopt(curl, CURLOPT_SEEKFUNCTION, &seek_body);
      curl_easy_setopt(curl, CURLOPT_SEEKDATA, &running);
      curl_easy_setopt(curl, CURLOPT_UPLOAD_BUFFERSIZE,
                       running.body_size > (1U << 20) ? 256L << 10 : 64L << 10);
    }
  }
  curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, request.method.c_str());
}

void set_up(CURL* curl, Running& running, HeaderList& headers,
            std::array<char, CURL_ERROR_SIZE>& message) {
  const ClientOptions& options = running.options;
  curl_easy_reset(curl);  // keeps connections
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, message.data());
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1);
  curl_easy_setopt(curl, CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2);
  curl_easy_setopt(curl, CURLOPT_SSL_VERIFYPEER, 1L);
  curl_easy_setopt(curl, CURLOPT_SSL_VERIFYHOST, 2L);
  if (!options.ca_file.empty()) curl_easy_setopt(curl, CURLOPT_CAINFO, options.ca_file.c_str());
  if (!options.proxy.empty()) curl_easy_setopt(curl, CURLOPT_PROXY, options.proxy.c_str());
  curl_easy_setopt(curl, CURLOPT_PATH_AS_IS, 1L);
  curl_easy_setopt(curl, CURLOPT_TCP_KEEPALIVE, 1L);
  curl_easy_setopt(curl, CURLOPT_BUFFERSIZE, running.exchange.receive ? 512L << 10 : 128L << 10);
  const auto whole_ms = [](Nanoseconds d) { return static_cast<long>(d.count() / 1'000'000); };
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, whole_ms(options.connect_timeout));
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME,
                   std::max(1L, whole_ms(options.stall_timeout) / 1000));
  curl_easy_setopt(curl, CURLOPT_URL, full_url(running.request).c_str());
  curl_easy_setopt(curl, CURLOPT_USERAGENT, ("assay/" + build_info().version).c_str());
  curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, &read_header);
  curl_easy_setopt(curl, CURLOPT_HEADERDATA, &running);
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, &read_reply);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &running);
  curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
  curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, &look_for_end);
  curl_easy_setopt(curl, CURLOPT_XFERINFODATA, &running);
  // libcurl itself repeats a request that got no answer on a kept connection.
  if (!running.request.may_repeat()) curl_easy_setopt(curl, CURLOPT_FRESH_CONNECT, 1L);
  set_up_body(curl, running, headers);
  for (const auto& [name, value] : running.request.headers)
    headers.add(value.empty() ? name + ";" : name + ": " + value);
  curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers.get());
}

}  // namespace

Outcome attempt(CURL* handle, const ClientOptions& options, const Request& request,
                const Exchange& exchange, std::int64_t deadline_ns) {
  Running running{options, request, exchange, deadline_ns, {}, {}};
  HeaderList headers;
  std::array<char, CURL_ERROR_SIZE> message{};
  try {
    set_up(handle, running, headers, message);
  } catch (...) {
    running.fail();
    return std::move(running.outcome);
  }
  {
    const WithoutSigpipe quiet;
    running.outcome.code = curl_easy_perform(handle);
  }
  Outcome outcome = std::move(running.outcome);
  curl_off_t request_bytes = 0;
  long sent_bytes = 0;
  curl_easy_getinfo(handle, CURLINFO_SIZE_UPLOAD_T, &request_bytes);
  curl_easy_getinfo(handle, CURLINFO_REQUEST_SIZE, &sent_bytes);
  outcome.was_sent = outcome.was_sent || request_bytes > 0 || sent_bytes > 0;
  if (!running.too_slow.empty()) {
    outcome.code = CURLE_OPERATION_TIMEDOUT;
    outcome.cause = running.too_slow;
  } else if (outcome.code != CURLE_OK)
    outcome.cause = message[0] != '\0' ? message.data() : curl_easy_strerror(outcome.code);
  if (const auto date = parse_http_date(outcome.response.header("date")))
    outcome.response.clock_offset = Nanoseconds(*date - wall_now_ns());
  curl_easy_setopt(handle, CURLOPT_ERRORBUFFER, nullptr);
  return outcome;
}

}  // namespace assay::http
