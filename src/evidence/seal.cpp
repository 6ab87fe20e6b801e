#include "evidence/seal.h"

#include <set>

#include <fmt/format.h>

#include "core/error.h"
#include "core/json_fields.h"
#include "core/text.h"
#include "core/time.h"

namespace assay::evidence {

namespace {

bool is_one_line(std::string_view text) {
  return text.find('\n') == std::string_view::npos;
}

Seal read_seal(std::string_view text, const std::string& run_id) {
  const auto fail = [](const std::string& problem) -> Error {
    return Error(ErrorKind::config, problem);
  };
  const Json json = parse_json_or_null(text);
  if (!json.is_object()) throw fail("it is not a JSON object");
  if (const auto schema = json.find("schema");
      schema == json.end() || !schema->is_number_integer() || *schema != kSealSchema)
    throw fail(fmt::format("it is not of schema {}", kSealSchema));
  Seal seal = fields_from_json<Seal>(json, "seal.json");
  if (seal.run_id != run_id)
    throw fail("it belongs to another run: '" + printable(seal.run_id) + "'");
  // The signed text consists of lines: a newline within a value could change its meaning.
  if (!is_one_line(seal.run_id) || !is_one_line(seal.signed_at) || !is_one_line(seal.public_key))
    throw fail("a text in it has a line end");
  std::set<std::string> names;
  for (const FileRecord& file : seal.files) {
    if (!is_sound(file)) throw fail("it lists what cannot be a file of the run");
    if (!names.insert(file.name).second)
      throw fail("it lists '" + printable(file.name) + "' twice");
  }
  return seal;
}

}  // namespace

std::string signed_bytes(const Seal& seal) {
  std::string out = fmt::format("assay seal {}\nrun {}\nsigned_at {}\npublic_key {}\n", seal.schema,
                                seal.run_id, seal.signed_at, seal.public_key);
  for (const FileRecord& file : seal.files)
    out += fmt::format("file {} {} {} {}\n", file.sha256, file.bytes, file.lines, file.name);
  return out;
}

std::string make_seal(const std::string& run_id, std::vector<FileRecord> files,
                      std::int64_t wall_ns, const SigningKey* key) {
  Seal seal;
  seal.run_id = run_id;
  seal.files = std::move(files);
  seal.signed_at = iso_utc(wall_ns, /*millis=*/true);
  if (key != nullptr) {
    seal.public_key = key->public_key();
    seal.signature = key->sign(signed_bytes(seal));
  }
  return dump_pretty(fields_to_json(seal));
}

SealCheck verify_seal(std::string_view text, const std::string& run_id, const Measure& measure) {
  SealCheck out;
  try {
    out.seal = read_seal(text, run_id);
  } catch (const Error& error) {
    out.problem = error.message();
    return out;
  }
  const Seal& seal = *out.seal;
  if (seal.public_key.empty() && seal.signature.empty())
    out.signature = SignatureState::unsigned_;
  else if (is_signed_by(seal.public_key, signed_bytes(seal), seal.signature))
    out.signature = SignatureState::valid;
  for (const FileRecord& file : seal.files)
    if (const FileMatch match = compare(file, measure(file.name)); match != FileMatch::same)
      out.misfits.push_back({file.name, match});
  return out;
}

}  // namespace assay::evidence
