#include "core/units.h"

#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "core/text.h"

namespace assay {

namespace {

struct NumberAndSuffix {
  double number;
  std::string_view suffix;
};

std::optional<NumberAndSuffix> split_number(std::string_view text) {
  text = trim(text);
  double number = 0;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (ec != std::errc{} || !std::isfinite(number) || number < 0) return std::nullopt;
  return NumberAndSuffix{number, trim(text.substr(static_cast<std::size_t>(end - text.data())))};
}

}  // namespace

std::optional<Nanoseconds> parse_duration(std::string_view text) {
  static constexpr std::array<std::pair<std::string_view, double>, 8> kUnits{{{"", 1e9},
                                                                              {"ns", 1},
                                                                              {"us", 1e3},
                                                                              {"ms", 1e6},
                                                                              {"s", 1e9},
                                                                              {"m", 60e9},
                                                                              {"h", 3600e9},
                                                                              {"d", 86400e9}}};
  const auto parts = split_number(text);
  if (!parts) return std::nullopt;
  for (const auto& [suffix, factor] : kUnits) {
    if (parts->suffix != suffix) continue;
    const double ns = parts->number * factor;
    if (ns > 9e18) return std::nullopt;
    return Nanoseconds(std::llround(ns));
  }
  return std::nullopt;
}

std::optional<std::uint64_t> parse_size(std::string_view text) {
  const auto parts = split_number(text);
  if (!parts) return std::nullopt;
  std::string suffix = to_lower(parts->suffix);
  if (suffix.ends_with("ib")) suffix.resize(suffix.size() - 2);
  if (suffix.ends_with("b")) suffix.pop_back();
  static constexpr std::string_view kPrefixes = "kmgtp";
  double factor = 1;
  if (!suffix.empty()) {
    const auto at = kPrefixes.find(suffix[0]);
    if (suffix.size() != 1 || at == std::string_view::npos) return std::nullopt;
    factor = std::pow(1024.0, static_cast<double>(at + 1));
  }
  const double bytes = parts->number * factor;
  if (bytes > 1.8e19) return std::nullopt;
  return static_cast<std::uint64_t>(bytes);
}

std::string format_duration(Nanoseconds d) {
  const double s = seconds(d);
  if (s < 1e-3) return fmt::format("{:.0f} µs", s * 1e6);
  if (s < 1) return fmt::format("{:.0f} ms", s * 1e3);
  if (s < 60) return fmt::format("{:.2f} s", s);
  const auto whole = static_cast<std::int64_t>(s);
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} min", whole / 3600, whole % 3600 / 60);
}

std::string duration_text(Nanoseconds d) {
  static constexpr std::array<std::pair<std::int64_t, const char*>, 6> kUnits{
      {{3600'000'000'000, "h"},
       {60'000'000'000, "m"},
       {1'000'000'000, "s"},
       {1'000'000, "ms"},
       {1'000, "us"},
       {1, "ns"}}};
  const std::int64_t ns = d.count();
  if (ns == 0) return "0s";
  for (const auto& [factor, suffix] : kUnits) {
    if (ns % factor == 0) return fmt::format("{}{}", ns / factor, suffix);
  }
  return fmt::format("{}ns", ns);
}

std::string format_bytes(double bytes) {
  static constexpr std::array<const char*, 6> kUnits{"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  std::size_t unit = 0;
  while (bytes >= 1024 && unit + 1 < kUnits.size()) {
    bytes /= 1024;
    ++unit;
  }
  return unit == 0 ? fmt::format("{:.0f} B", bytes) : fmt::format("{:.2f} {}", bytes, kUnits[unit]);
}

std::string format_number(double value) {
  if (!std::isfinite(value)) return "–";
  const double size = std::abs(value);
  if (size == 0) return "0";
  if (size >= 1e9 || size < 1e-4) return fmt::format("{:.3e}", value);
  if (size >= 1000) {
    std::string digits = fmt::format("{:.0f}", value);
    for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > (value < 0 ? 1 : 0);
         at -= 3)
      digits.insert(static_cast<std::size_t>(at), ",");
    return digits;
  }
  return fmt::format("{:.4g}", value);
}

}  // namespace assay
