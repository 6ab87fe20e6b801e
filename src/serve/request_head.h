#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

namespace assay::serve {

/// What the parser takes; of more it gives up.
inline constexpr std::size_t kMaxTarget = 2048;  ///< bytes of a path with its query
inline constexpr std::size_t kMaxHeaderName = 128;
inline constexpr std::size_t kMaxHeaderValue = 8192;
inline constexpr std::size_t kMaxHeaders = 64;

/// Why a request is refused before anybody looks at what it asks for.
struct HeadFault {
  int status = 0;  ///< 400, 413, 414, 417, 431, 501 or 505; 0: there is none
  std::string text{};
  bool old = false;  ///< the request is HTTP/1.0, which is no fault
};

/// For programs: "bad_request".
[[nodiscard]] std::string_view code_of(const HeadFault& fault);

/// Watches the bytes of a connection and finds requests whose heads or chunked bodies are not to
/// the letter of RFC 9112: a lenient parser takes them, and one in front of it may read them in
/// another way. It changes nothing: the parser decides where a request ends. Pure.
class RequestHeads {
 public:
  /// Bytes as they came.
  void feed(std::string_view bytes);

  /// Of the first request that was not asked for yet; call it once for every request.
  [[nodiscard]] HeadFault next_fault();
  /// Why the parser has given up; status 0 where no request was under way that is unanswered.
  [[nodiscard]] HeadFault given_up() const;
  /// Whether what follows the request cannot be told apart (a chunked body): the connection is to
  /// be closed after the answer.
  [[nodiscard]] bool lost() const noexcept { return state_ == State::lost; }
  /// Given once for a request that waits for "100 Continue" before it sends its body, when no other
  /// is still to be answered: why it is refused, or a fault of status 0.
  [[nodiscard]] std::optional<HeadFault> take_expectation();

 private:
  enum class State { request_line, headers, body, chunk_size, chunk, chunk_end, trailers, lost };
  void take_line();
  void take_header(std::string_view line);
  void take_transfer_encoding(std::string_view value);
  void take_chunk_line(std::string_view line, bool whole);
  void end_head();
  void fault(int status, std::string text);
  /// Of the newest request, whose head was taken before.
  void body_fault(std::string text);

  State state_ = State::request_line;
  std::string line_;
  bool skipping_ = false;  // the rest of a line that is too long
  std::uint64_t body_left_ = 0;
  int hosts_ = 0;
  int lengths_ = 0;
  std::size_t headers_ = 0;
  bool old_ = false;  // HTTP/1.0
  bool chunked_ = false;
  bool expects_ = false;  // an "Expect" was in its head
  bool waits_ = false;    // its head came, and nothing of its body
  HeadFault current_;
  std::deque<HeadFault> faults_;  // of whole heads
};

}  // namespace assay::serve
