#include "evidence/chain.h"

#include <fmt/format.h>

#include "core/error.h"
#include "core/json_fields.h"

namespace assay::evidence {

namespace {

// A line is the hashed text with the head inserted before its last brace:
// {"mono_ns":…,"wall_ns":…,"files":[…],"head":"<64 hex digits>"}
constexpr std::string_view kHeadKey = ",\"head\":\"";
constexpr std::string_view kLineEnd = "\"}";
constexpr std::size_t kHeadSize = 64;

/// The hashed part of a line.
struct Body {
  Instant at;
  std::vector<FileRecord> files;

  template <class Self, class F>
  static void fields(Self& self, F&& field) {
    field("mono_ns", self.at.mono_ns);
    field("wall_ns", self.at.wall_ns);
    field("files", self.files);
  }
};

std::string head_after(std::string_view head, std::string_view body) {
  Sha256 hash;
  hash.update(head);
  hash.update(body);
  return hash.hex();
}

/// Throws Error unless the line is a link that follows `head`.
Link read_link(std::string_view line, std::string_view head) {
  const auto fail = [](const std::string& problem) -> Error {
    return Error(ErrorKind::config, problem);
  };
  constexpr std::size_t tail = kHeadKey.size() + kHeadSize + kLineEnd.size();
  if (line.size() < tail || !line.ends_with(kLineEnd) ||
      line.substr(line.size() - tail, kHeadKey.size()) != kHeadKey)
    throw fail("it does not end with a head");
  Link link;
  link.head = line.substr(line.size() - tail + kHeadKey.size(), kHeadSize);
  const std::string text = std::string(line.substr(0, line.size() - tail)) + "}";
  if (head_after(head, text) != link.head)
    throw fail("its head does not follow from the lines before");
  Body body = fields_from_json<Body>(parse_json(text, {}), {});
  for (const FileRecord& file : body.files)
    if (!is_sound(file)) throw fail("it names a file that cannot be one of the round");
  link.at = body.at;
  link.files = std::move(body.files);
  return link;
}

}  // namespace

std::string first_head(std::string_view round_id, int node) {
  return sha256(fmt::format("assay evidence chain 1\n{}\nnode {}\n", round_id, node));
}

std::string Chain::append(const Instant& at, const std::vector<FileRecord>& files) {
  std::string line = dump_line(fields_to_json(Body{at, files}));
  head_ = head_after(head_, line);
  line.pop_back();
  line += kHeadKey;
  line += head_;
  line += kLineEnd;
  line += '\n';
  return line;
}

ChainCheck verify_chain(std::string_view text, std::string_view round_id, int node) {
  ChainCheck out;
  out.head = first_head(round_id, node);
  for (std::size_t number = 1; !text.empty(); ++number) {
    const auto end = text.find('\n');
    try {
      if (end == std::string_view::npos)
        throw Error(ErrorKind::config, "it is cut: there is no end of the line");
      Link link = read_link(text.substr(0, end), out.head);
      if (!out.links.empty() && link.at.mono_ns < out.links.back().at.mono_ns)
        throw Error(ErrorKind::config, "it is from before the line before");
      out.head = link.head;
      out.links.push_back(std::move(link));
    } catch (const Error& error) {
      out.bad_line = number;
      out.problem = error.message();
      return out;
    }
    text.remove_prefix(end + 1);
  }
  return out;
}

}  // namespace assay::evidence
