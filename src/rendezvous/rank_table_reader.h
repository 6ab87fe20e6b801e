#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"
#include "rendezvous/rank_table.h"

namespace assay::rendezvous {

using Findings = std::vector<Finding>;

/// A JSON object or value in a rank table that knows its path. A missing or mistyped value becomes
/// a finding, and a substitute lets reading continue.
class Cursor {
 public:
  Cursor(const Json& json, std::string path, Findings& findings)
      : json_(&json), path_(std::move(path)), findings_(&findings) {}

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] Findings& findings() const noexcept { return *findings_; }
  /// The same place with another list of findings.
  [[nodiscard]] Cursor with(Findings& findings) const { return {*json_, path_, findings}; }
  [[nodiscard]] bool has(const char* key) const;
  [[nodiscard]] bool has_list(const char* key) const;
  [[nodiscard]] std::string path_of(std::string_view key) const;

  /// A key's text; "" with a finding if it is missing or not text. HCCL requires numbers as text: a
  /// bare one is repairable.
  [[nodiscard]] std::string text(const char* key) const;
  [[nodiscard]] std::string text_or_empty(const char* key) const;
  /// A decimal number from 0 to `max`, written as text; otherwise nothing, with a finding.
  [[nodiscard]] std::optional<int> number(const char* key, int max = 1'000'000'000) const;
  /// The objects in a list; other items are findings. Empty, with a finding, if it is missing.
  [[nodiscard]] std::vector<Cursor> objects(const char* key) const;
  [[nodiscard]] std::vector<std::string> texts(const char* key) const;
  /// A count that must equal the size of the list beside it (if that is a list), or of something
  /// else that was read. May be absent unless required.
  void expect_size(const char* key, const char* list, const char* of, bool required) const;
  void expect_count(const char* key, std::size_t actual, const char* of, bool required) const;
  /// Notes keys that no form of rank tables has.
  void note_unknown(std::initializer_list<std::string_view> known) const;

  void invalid(std::string_view key, std::string message, std::string advice = {}) const;
  void note(std::string_view key, std::string message, std::string advice = {}) const;

 private:
  const Json* json_;
  std::string path_;
  Findings* findings_;
};

/// The places of a device's values in the file.
struct DevicePlace {
  std::string device;  ///< path of the object with device_id and device_ip
  std::string rank;    ///< path of its rank, or of the device if the form has no ranks
};

struct ServerPlace {
  std::string server;
  std::vector<DevicePlace> devices;
};

/// The result of the forms' readers: places[i] belongs to table.servers[i].
struct TableDraft {
  TableForm form = TableForm::v1_0;
  RankTable table;
  std::vector<ServerPlace> places;
  bool dropped = false;  ///< a device was unreadable, so later gaps are expected
};

/// Read the forms 1.0 and 1.2, and the forms cloud and lab. Check only structure and counts.
void read_server_list(const Cursor& root, TableDraft& draft);
void read_group_list(const Cursor& root, TableDraft& draft);

/// Reads the device id and IPs, which all forms share. Returns false without a usable id.
bool read_device(const Cursor& cursor, TableDevice& device);

/// Checks the rules that all forms share: ids, IPs, ranks, equal servers.
void check_devices(const TableDraft& draft, const CheckOptions& options, Findings& findings);

/// Assigns HCCL's ranks to a table without any: by server_id as text, then by device id.
void assign_cloud_ranks(RankTable& table);

}  // namespace assay::rendezvous
