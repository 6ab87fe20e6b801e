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

/// seal.json: the controller's statement about a run that has ended. It lists the files in the run
/// directory itself; the journal, one of them, lists the rounds' files.
struct Seal {
  int schema = kSealSchema;
  std::string run_id;
  std::vector<FileRecord> files;
  std::string signed_at;   ///< "2026-11-15T10:15:00.123Z", by the controller's clock
  std::string public_key;  ///< empty: unsigned
  std::string signature;   ///< base64; empty: unsigned

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

/// The signed bytes (docs/evidence.md):
///     assay seal 1
///     run <run id>
///     signed_at <stamp>
///     public_key <key>
///     file <sha256> <bytes> <lines> <name>        for every file, in list order
/// each ending with a newline.
[[nodiscard]] std::string signed_bytes(const Seal& seal);

/// The text of seal.json; unsigned without a key. `files` must be sound.
[[nodiscard]] std::string make_seal(const std::string& run_id, std::vector<FileRecord> files,
                                    std::int64_t wall_ns, const SigningKey* key);

enum class SignatureState {
  valid,      ///< signed by the owner of `public_key`, for exactly this list and run
  unsigned_,  ///< no key and no signature: anybody can have written it
  wrong,      ///< a key or a signature that do not fit
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
  std::optional<Seal> seal;  ///< nothing: unreadable, for the reason in `problem`
  std::string problem;
  SignatureState signature = SignatureState::wrong;
  std::vector<Misfit> misfits;

  /// Whether it could be read and the listed files are unchanged, whatever the signature is.
  [[nodiscard]] bool fits() const noexcept { return seal && misfits.empty(); }
};

/// The result of measure_file for a file of the run directory; nothing if it is missing.
using Measure = std::function<std::optional<FileRecord>(const std::string& name)>;

/// Reads and checks the text of the seal.json of run `run_id`; refuses a seal of another run or an
/// unknown schema, and names that are not plain or occur twice. Calls `measure` for every listed
/// file and lets its exceptions through. The caller decides which files must be listed.
[[nodiscard]] SealCheck verify_seal(std::string_view text, const std::string& run_id,
                                    const Measure& measure);

}  // namespace assay::evidence
