#pragma once

// The strict PerfLog writer for any C++17 program: it needs only the standard library and POSIX, so
// this file can be copied into a trainer as it is. See docs/perflog.md.

#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <type_traits>
#include <vector>

#include <poll.h>
#include <time.h>
#include <unistd.h>

namespace assay::perflog {

/// A name and a value for an event. Holds views, whose targets must live until the call returns.
class Value {
 public:
  Value(std::string_view name, bool flag) noexcept : name_(name), type_(Type::boolean) {
    number_.whole = flag ? 1 : 0;
  }
  Value(std::string_view name, std::string_view text) noexcept
      : name_(name), type_(Type::text), text_(text) {}
  Value(std::string_view name, const char* text) noexcept
      : Value(name, text == nullptr ? std::string_view() : std::string_view(text)) {}
  template <typename T, typename = std::enable_if_t<std::is_arithmetic_v<T>>>
  Value(std::string_view name, T number) noexcept : name_(name) {
    if constexpr (std::is_floating_point_v<T>) {
      type_ = Type::real;
      number_.real = static_cast<double>(number);
    } else if constexpr (std::is_signed_v<T>) {
      type_ = Type::whole;
      number_.whole = static_cast<std::int64_t>(number);
    } else {
      type_ = Type::positive;
      number_.positive = static_cast<std::uint64_t>(number);
    }
  }

 private:
  friend class Writer;
  enum class Type : unsigned char { real, whole, positive, boolean, text };
  std::string_view name_;
  Type type_ = Type::real;
  union {
    double real;
    std::int64_t whole;
    std::uint64_t positive;
  } number_ = {0.0};
  std::string_view text_;
};

/// A list of values, in braces or from a vector; a view, for parameters only.
class Values {
 public:
  Values() = default;
  Values(std::initializer_list<Value> list) noexcept : Values(list.begin(), list.size()) {}
  Values(const std::vector<Value>& list) noexcept : Values(list.data(), list.size()) {}
  [[nodiscard]] const Value* begin() const noexcept { return data_; }
  [[nodiscard]] const Value* end() const noexcept { return data_ + size_; }

 private:
  Values(const Value* data, std::size_t size) noexcept : data_(data), size_(size) {}

  const Value* data_ = nullptr;
  std::size_t size_ = 0;
};

/// One training step. Leave out whatever is unknown.
struct Step {
  /// Samples processed by THIS rank since its previous STEP_END.
  std::optional<double> samples;
  /// The same over all ranks, if one rank logs for all; not together with `samples`.
  std::optional<double> global_samples;
  std::optional<double> loss;
  /// Tokens processed by this rank since its previous STEP_END.
  std::optional<double> tokens;
  /// Model FLOPs (not FLOP/s) of this rank since its previous STEP_END, without recomputation.
  std::optional<double> flops;
  std::optional<double> lr;
  // How this step's time was spent, in seconds.
  std::optional<double> data_s;
  std::optional<double> compute_s;
  std::optional<double> comm_s;
  std::optional<double> bubble_s;  ///< part of comm_s: waiting for other stages of a pipeline
  std::optional<double> optimizer_s;
};

/// Where an event was logged: the caller's line, by default argument.
struct Where {
  const char* file;
  int line;
  static constexpr Where here(const char* file = __builtin_FILE(),
                              int line = __builtin_LINE()) noexcept {
    return {file, line};
  }
};

/// Writes PerfLog lines of strict JSON. Each line is one write(2) of at most kMaxLine bytes, so
/// lines of several processes on one pipe do not mix. A non-finite number is written as null and
/// listed in the value's "nonfinite". Fields that do not fit are left out and counted in the
/// value's "dropped_fields". Never throws and never allocates; failed() counts lines that could not
/// be written. One thread per writer.
class Writer {
 public:
  /// PIPE_BUF of Linux.
  static constexpr std::size_t kMaxLine = 4096;

  /// Flushes `file` before each line, so that lines keep their place in the printed output.
  explicit Writer(std::FILE* file = stdout, int rank = rank_from_environment()) noexcept
      : file_(file), fd_(::fileno(file)), rank_(rank) {}
  explicit Writer(int fd, int rank = rank_from_environment()) noexcept : fd_(fd), rank_(rank) {}

  void init_start(Where where = Where::here()) { bare("INIT_START", where); }
  void init_end(Where where = Where::here()) { bare("INIT_END", where); }
  void train_start(Where where = Where::here()) { bare("TRAIN_START", where); }
  void train_end(Where where = Where::here()) { bare("TRAIN_END", where); }
  void epoch_begin(std::int64_t epoch, Where where = Where::here()) {
    begin("EPOCH_BEGIN");
    end("epoch", &epoch, where);
  }
  void epoch_end(std::int64_t epoch, Where where = Where::here()) {
    begin("EPOCH_END");
    end("epoch", &epoch, where);
  }
  void step_begin(std::int64_t step, Where where = Where::here()) {
    begin("STEP_BEGIN");
    end("step", &step, where);
  }

  /// `step` counts from 1 (or continues from a checkpoint) and never goes back.
  void step_end(std::int64_t step, const Step& what, Values more = {},
                Where where = Where::here()) {
    begin("STEP_END");
    open_value();
    optional_field("loss", what.loss);
    optional_field("samples", what.samples);
    optional_field("global_samples", what.global_samples);
    optional_field("tokens", what.tokens);
    optional_field("flops", what.flops);
    optional_field("lr", what.lr);
    optional_field("data_s", what.data_s);
    optional_field("compute_s", what.compute_s);
    optional_field("comm_s", what.comm_s);
    optional_field("bubble_s", what.bubble_s);
    optional_field("optimizer_s", what.optimizer_s);
    for (const Value& value : more) field(value);
    close_value();
    end("step", &step, where);
  }

  /// Qualities measured by an evaluation that took `time_s` seconds, after training step `step`.
  void evaluate(Values qualities, double time_s, std::int64_t step, Where where = Where::here()) {
    evaluation("EVALUATE", qualities, time_s, &step, where);
  }
  /// An evaluation before training.
  void init_evaluation(Values qualities, double time_s, Where where = Where::here()) {
    evaluation("INIT_EVALUATION", qualities, time_s, nullptr, where);
  }

  /// The phase `name` of the program ("data", "model", "checkpoint"; docs/perflog.md lists them)
  /// has just ended after `time_s` seconds.
  void phase(std::string_view name, double time_s, Where where = Where::here()) {
    begin("PHASE");
    open_value();
    field(Value("name", name));
    field(Value("time", time_s));
    close_value();
    end(nullptr, nullptr, where);
  }

  /// The final result: "converged" (boolean), qualities as "final_…", and anything else known.
  void finished(Values results, Where where = Where::here()) {
    begin("FINISHED");
    open_value();
    for (const Value& value : results) field(value);
    close_value();
    end(nullptr, nullptr, where);
  }

  /// Lines that could not be written (the reader has gone, the disk is full).
  [[nodiscard]] std::uint64_t failed() const noexcept { return failed_; }
  [[nodiscard]] int rank() const noexcept { return rank_; }

  /// $RANK, or -1 unless it is a number.
  [[nodiscard]] static int rank_from_environment() noexcept {
    const char* text = std::getenv("RANK");
    if (text == nullptr || *text == '\0') return -1;
    char* end = nullptr;
    const long rank = std::strtol(text, &end, 10);
    return *end == '\0' && rank >= 0 && rank <= 0x7fffffff ? static_cast<int>(rank) : -1;
  }

 private:
  // Reserved after the value for the step, the metadata and the lists that close the value.
  static constexpr std::size_t kTail = 448;

  void bare(std::string_view event, Where where) noexcept {
    begin(event);
    end(nullptr, nullptr, where);
  }

  void evaluation(std::string_view event, Values qualities, double time_s, const std::int64_t* step,
                  Where where) noexcept {
    begin(event);
    open_value();
    for (const Value& value : qualities) field(value);
    field(Value("time", time_s));
    close_value();
    end(step == nullptr ? nullptr : "step", step, where);
  }

  void begin(std::string_view event) noexcept {
    size_ = 0;
    limit_ = kMaxLine - kTail;
    put("[PerfLog] {\"event\": \"");
    put(event);
    put("\"");
  }

  void open_value() noexcept {
    put(", \"value\": {");
    first_ = true;
    dropped_ = 0;
    nonfinite_count_ = 0;
    nonfinite_room_ = 0;
  }

  void optional_field(std::string_view name, const std::optional<double>& value) noexcept {
    if (value) field(Value(name, *value));
  }

  void field(const Value& value) noexcept {
    const std::size_t start = size_;
    limit_ = kMaxLine - kTail - nonfinite_room_;
    bool fits = put(first_ ? "\"" : ", \"") && put_escaped(value.name_) && put("\": ");
    const std::size_t name_end = size_;
    fits = fits && put_value(value);
    const bool nonfinite = value.type_ == Value::Type::real && !std::isfinite(value.number_.real);
    if (fits && nonfinite) {
      const std::size_t quote = start + (first_ ? 0 : 2);
      const std::size_t length = name_end - 2 - quote;  // the name with its quotes
      fits = nonfinite_count_ < kMaxNonfinite &&
             size_ + length + 2 <= kMaxLine - kTail - nonfinite_room_;
      if (fits) {
        nonfinite_[nonfinite_count_++] = {static_cast<std::uint16_t>(quote),
                                          static_cast<std::uint16_t>(length)};
        nonfinite_room_ += length + 2;
      }
    }
    if (!fits) {
      size_ = start;
      ++dropped_;
      return;
    }
    first_ = false;
  }

  void close_value() noexcept {
    limit_ = kMaxLine;
    for (std::size_t i = 0; i < nonfinite_count_; ++i) {
      put(i == 0 ? ", \"nonfinite\": [" : ", ");
      put(std::string_view(buffer_ + nonfinite_[i].begin, nonfinite_[i].length));
    }
    if (nonfinite_count_ > 0) put("]");
    if (dropped_ > 0) {
      put(first_ ? "\"dropped_fields\": " : ", \"dropped_fields\": ");
      put_number(dropped_);
    }
    put("}");
  }

  void end(const char* extra, const std::int64_t* number, Where where) noexcept {
    limit_ = kMaxLine;
    if (extra != nullptr) {
      put(", \"");
      put(extra);
      put("\": ");
      put_number(*number);
    }
    const char* slash = std::strrchr(where.file, '/');
    std::string_view file = slash == nullptr ? where.file : slash + 1;
    put(", \"metadata\": {\"file\": \"");
    put_escaped(file.substr(0, 32));
    put("\", \"lineno\": ");
    put_number(where.line);
    put(", \"time_ms\": ");
    put_number(clock(CLOCK_REALTIME) / 1000);
    put(", \"rank\": ");
    put_number(rank_);
    put(", \"mono_us\": ");
    put_number(clock(CLOCK_MONOTONIC));
    put("}}\n");
    if (!send()) ++failed_;
  }

  [[nodiscard]] static std::int64_t clock(clockid_t id) noexcept {
    timespec now{};
    ::clock_gettime(id, &now);
    return static_cast<std::int64_t>(now.tv_sec) * 1000000 + now.tv_nsec / 1000;
  }

  bool send() noexcept {
    if (file_ != nullptr && std::fflush(file_) != 0) return false;
    for (std::size_t sent = 0; sent < size_;) {
      const ssize_t n = ::write(fd_, buffer_ + sent, size_ - sent);
      if (n > 0) {
        sent += static_cast<std::size_t>(n);
      } else if (n < 0 && errno == EAGAIN) {
        pollfd writable{fd_, POLLOUT, 0};
        ::poll(&writable, 1, -1);
      } else if (n == 0 || errno != EINTR) {
        return false;
      }
    }
    return true;
  }

  bool put(std::string_view text) noexcept {
    if (text.size() > limit_ - size_) return false;
    std::memcpy(buffer_ + size_, text.data(), text.size());
    size_ += text.size();
    return true;
  }

  template <typename T>
  bool put_number(T number) noexcept {
    char text[24];
    const char* const end = std::to_chars(text, text + sizeof text, number).ptr;
    return put({text, static_cast<std::size_t>(end - text)});
  }

  bool put_real(double number) noexcept {
    if (!std::isfinite(number)) return put("null");
    char text[40];
#if defined(__cpp_lib_to_chars)
    const char* const end = std::to_chars(text, text + sizeof text, number).ptr;
    return put({text, static_cast<std::size_t>(end - text)});
#else
    const int length = std::snprintf(text, sizeof text, "%.17g", number);
    for (int i = 0; i < length; ++i)
      if (text[i] == ',') text[i] = '.';  // of the locale
    return put({text, static_cast<std::size_t>(length)});
#endif
  }

  bool put_value(const Value& value) noexcept {
    switch (value.type_) {
      case Value::Type::real:
        return put_real(value.number_.real);
      case Value::Type::whole:
        return put_number(value.number_.whole);
      case Value::Type::positive:
        return put_number(value.number_.positive);
      case Value::Type::boolean:
        return put(value.number_.whole != 0 ? "true" : "false");
      case Value::Type::text:
        break;
    }
    return put("\"") && put_escaped(value.text_) && put("\"");
  }

  // Length of the UTF-8 sequence at the beginning of `text`, or 0 if it is invalid.
  [[nodiscard]] static std::size_t utf8_length(std::string_view text) noexcept {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned char lead = byte(0);
    if (lead < 0x80) return 1;
    const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
    if (lead < 0xC2 || lead > 0xF4 || text.size() < length) return 0;
    for (std::size_t i = 1; i < length; ++i)
      if ((byte(i) & 0xC0) != 0x80) return 0;
    const bool overlong = (lead == 0xE0 && byte(1) < 0xA0) || (lead == 0xF0 && byte(1) < 0x90);
    const bool surrogate = lead == 0xED && byte(1) >= 0xA0;
    const bool beyond = lead == 0xF4 && byte(1) >= 0x90;
    return overlong || surrogate || beyond ? 0 : length;
  }

  bool put_escaped(std::string_view text) noexcept {
    while (!text.empty()) {
      const std::size_t length = utf8_length(text);
      const unsigned char c = static_cast<unsigned char>(text.front());
      bool fits = true;
      if (length == 0) {
        fits = put("\xEF\xBF\xBD");
      } else if (c == '"' || c == '\\') {
        fits = put("\\") && put(text.substr(0, 1));
      } else if (c < 0x20) {
        constexpr char digits[] = "0123456789abcdef";
        const char escape[] = {'\\', 'u', '0', '0', digits[c >> 4], digits[c & 15]};
        fits = put({escape, sizeof escape});
      } else {
        fits = put(text.substr(0, length));
      }
      if (!fits) return false;
      text.remove_prefix(length == 0 ? 1 : length);
    }
    return true;
  }

  struct Part {
    std::uint16_t begin;
    std::uint16_t length;
  };
  static constexpr std::size_t kMaxNonfinite = 64;

  std::FILE* file_ = nullptr;
  int fd_;
  int rank_;
  std::uint64_t failed_ = 0;
  std::size_t size_ = 0;
  std::size_t limit_ = 0;
  std::size_t nonfinite_room_ = 0;
  std::size_t nonfinite_count_ = 0;
  std::int64_t dropped_ = 0;
  bool first_ = true;
  Part nonfinite_[kMaxNonfinite] = {};
  char buffer_[kMaxLine];
};

}  // namespace assay::perflog
