#include "rendezvous/hostfile.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "core/error.h"
#include "core/parse_number.h"
#include "core/text.h"

namespace assay::rendezvous {

namespace {

constexpr int kMaxSlots = 4096;

bool is_word_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
         c == '-' || c == '_';
}

/// horovodrun accepts letters, digits, '.', '-' and '_'; MPICH splits at ':', and OpenMPI reads an
/// IPv6 address but cannot start anything there.
bool fits(std::string_view host) {
  return !host.empty() && host[0] != '-' && host.size() <= 253 &&
         std::ranges::all_of(host, is_word_character);
}

[[noreturn]] void bad_host(std::string_view host, HostfileForm form, const std::string& where) {
  const bool colon = host.find(':') != std::string_view::npos;
  throw Error(
      ErrorKind::config,
      fmt::format("'{}' cannot be a host of the form {}", ellipsize(printable(host), 80),
                  to_text(form)),
      where,
      colon ? "an IPv6 address does not fit: give the host a name (hosts: [{name: n1, address: …}])"
            : "letters, digits, '.', '-' and '_' are allowed");
}

std::optional<int> slot_count(std::string_view text) {
  return parse_number<int>(text, 1, kMaxSlots);
}

int read_slots(std::string_view text, const std::string& where) {
  const auto slots = slot_count(text);
  if (!slots)
    throw Error(ErrorKind::config,
                fmt::format("slots must be a whole number from 1 to {}, got '{}'", kMaxSlots,
                            ellipsize(printable(text), 40)),
                where, "host slots=8");
  return *slots;
}

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  std::size_t at = 0;
  while ((at = line.find_first_not_of(" \t", at)) != std::string_view::npos) {
    const std::size_t end = std::min(line.find_first_of(" \t", at), line.size());
    words.push_back(line.substr(at, end - at));
    at = end;
  }
  return words;
}

/// Accepts "host slots=n"; without a given form also "slots = n" and max_slots.
HostSlots read_slots_line(const std::vector<std::string_view>& words, bool strict,
                          const std::string& where) {
  HostSlots out{std::string(words[0]), 0};
  for (std::size_t i = 1; i < words.size(); ++i) {
    const auto equals = words[i].find('=');
    const std::string_view key = words[i].substr(0, equals);
    const std::string_view value =
        equals == std::string_view::npos ? std::string_view() : words[i].substr(equals + 1);
    if (key == "slots" && out.slots == 0) {
      out.slots = read_slots(value, where);
    } else if (!strict && (key == "max_slots" || key == "max-slots")) {
      (void)read_slots(value, where);
    } else {
      throw Error(
          ErrorKind::config,
          fmt::format("'{}' is not expected here", ellipsize(printable(words[i]), 40)), where,
          strict ? "horovodrun reads 'host slots=n' and nothing else on a line" : "host slots=8");
    }
  }
  if (strict && out.slots == 0)
    throw Error(ErrorKind::config, "the host has no slots", where,
                "host slots=8: horovodrun has no default");
  return out;
}

HostSlots read_colon_line(std::string_view word, const std::string& where) {
  const auto colon = word.rfind(':');
  if (colon == std::string_view::npos) return {std::string(word), 0};
  return {std::string(word.substr(0, colon)), read_slots(word.substr(colon + 1), where)};
}

HostSlots read_line(std::string_view line, std::optional<HostfileForm> form,
                    const std::string& where) {
  const std::vector<std::string_view> words = words_of(line);
  const bool one_colon = std::ranges::count(words.front(), ':') == 1;
  const bool colon_form = form == HostfileForm::mpich || (!form && words.size() == 1 && one_colon);
  HostSlots out;
  if (colon_form) {
    if (words.size() > 1)
      throw Error(ErrorKind::config,
                  fmt::format("'{}' is not expected here", ellipsize(printable(words[1]), 40)),
                  where, "MPICH reads 'host:n'; for 'host slots=n' use the form openmpi");
    out = read_colon_line(words[0], where);
  } else {
    const bool strict = form == HostfileForm::horovod || form == HostfileForm::ib;
    out = read_slots_line(words, strict, where);
  }
  const HostfileForm kind = form.value_or(colon_form ? HostfileForm::mpich : HostfileForm::openmpi);
  if (!fits(out.host)) bad_host(out.host, kind, where);
  return out;
}

}  // namespace

std::string render_hostfile(const std::vector<HostSlots>& hosts, HostfileForm form) {
  std::string out;
  std::map<std::string_view, int> seen;
  for (const HostSlots& host : hosts) {
    if (!fits(host.host)) bad_host(host.host, form, {});
    if (host.slots < 1 || host.slots > kMaxSlots)
      throw Error(ErrorKind::config,
                  fmt::format("the host '{}' has {} slots, it must have 1 to {}", host.host,
                              host.slots, kMaxSlots),
                  {}, "say how many processes a host takes: slots of the host, or --slots");
    if (!seen.emplace(host.host, 0).second)
      throw Error(ErrorKind::config, "the host '" + host.host + "' is listed twice");
    out += form == HostfileForm::mpich ? fmt::format("{}:{}\n", host.host, host.slots)
                                       : fmt::format("{} slots={}\n", host.host, host.slots);
  }
  return out;
}

std::vector<HostSlots> parse_hostfile(std::string_view text, const std::string& where,
                                      std::optional<HostfileForm> form) {
  const bool strict = form == HostfileForm::horovod || form == HostfileForm::ib;
  std::vector<HostSlots> out;
  std::map<std::string, int> seen;
  int number = 0;
  if (text.ends_with('\n')) text.remove_suffix(1);
  for (std::string_view line : split(text, '\n')) {
    const std::string place = fmt::format("{}:{}", where, ++number);
    if (line.ends_with('\r')) line.remove_suffix(1);
    const std::string_view content = trim(line.substr(0, line.find('#')));
    if (strict && (content.empty() || content.size() != trim(line).size()))
      throw Error(ErrorKind::config,
                  content.empty() ? "a line without a host" : "a comment after a host", place,
                  "horovodrun fails on blank lines and comments: remove it");
    if (content.empty()) continue;
    HostSlots host = read_line(content, form, place);
    const auto [first, fresh] = seen.try_emplace(host.host, number);
    if (!fresh)
      throw Error(
          ErrorKind::config,
          fmt::format("the host '{}' is listed twice, first on line {}", host.host, first->second),
          place, "one line a host, with the sum of its slots");
    out.push_back(std::move(host));
  }
  if (out.empty()) throw Error(ErrorKind::config, "there is no host in it", where, "host slots=8");
  return out;
}

}  // namespace assay::rendezvous
