#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/enum_names.h"
#include "evidence/file_record.h"
#include "evidence/key.h"

namespace assay::evidence {

inline constexpr int kSealSchema = 1;

/// seal.json: the controller's statement about a run that has ended. It lists the files of the
/// run directory itself; the journal among them lists those of the rounds.
struct Seal {
  int schema = kSealSchema;
  std::string run_id;
  std::vector<FileRecord> files;
  std::string signed_at;   ///< "2026-11-15T10:15:00.123Z", by the controller's clock
  std::string public_key;  ///< empty: nobody signed
  std::string signature;   ///< base64; empty: nobody signed

  template <class Self, class F>
  static void fields(Self& self, F&& field) {
    field("schema", self.schema);
    field("run_id", self.run_id);
    field("files", self.files);
    field("signed_at", self.signed_at);
    field("public_key", self.public_key);
    field("signature", self.signature);
  }
};

/// The bytes that are signed (docs/evidence.md):
///     assay seal 1
///     run <run id>
///     signed_at <stamp>
///     public_key <key>
///     file <sha256> <bytes> <lines> <name>        for every file, in the order of the list
/// each with a newline.
[[nodiscard]] std::string signed_bytes(const Seal& seal);

/// The text of seal.json. Without a key the seal is unsigned. `files` must be sound.
[[nodiscard]] std::string make_seal(const std::string& run_id, std::vector<FileRecord> files,
                                    std::int64_t wall_ns, const SigningKey* key);

enum class SignatureState {
  valid,      ///< the owner of `public_key` signed exactly this list for exactly this run
  unsigned_,  ///< there is neither key nor signature: anybody can have written it
  wrong,      ///< there is a key or a signature, and they do not match
};

constexpr auto enum_names(SignatureState /*state*/) {
  using enum SignatureState;
  return std::to_array<EnumName<SignatureState>>(
      {{valid, "valid"}, {unsigned_, "unsigned"}, {wrong, "wrong"}});
}

struct SealCheck {
  /// A listed file that has changed since the run was sealed.
  struct Misfit {
    std::string name;
    FileMatch match = FileMatch::missing;
  };
  std::optional<Seal> seal;  ///< nothing: it could not be read, and `problem` says why
  std::string problem;
  SignatureState signature = SignatureState::wrong;
  std::vector<Misfit> misfits;

  /// It could be read, and all listed files are unchanged. The signature is a separate question.
  [[nodiscard]] bool fits() const noexcept { return seal && misfits.empty(); }
};

/// The result of measure_file for a file of the run directory; nothing: it is missing.
using Measure = std::function<std::optional<FileRecord>(const std::string& name)>;

/// Reads and checks the text of a seal.json that belongs to `run_id`; a seal of another run, of an
/// unknown schema, with names that are not plain or twice the same name is not read. `measure` is
/// called for every listed file; its exceptions pass through. The caller checks which files must be
/// listed.
[[nodiscard]] SealCheck verify_seal(std::string_view text, const std::string& run_id,
                                    const Measure& measure);

}  // namespace assay::evidence
