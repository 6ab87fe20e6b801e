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

/// A JSON object or value of a rank table that knows its path. What is missing or of another type
/// becomes a finding, and a value that lets reading go on.
class Cursor {
 public:
  Cursor(const Json& json, std::string path, Findings& findings)
      : json_(&json), path_(std::move(path)), findings_(&findings) {}

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] Findings& findings() const noexcept { return *findings_; }
  /// The same place, with its findings elsewhere.
  [[nodiscard]] Cursor with(Findings& findings) const { return {*json_, path_, findings}; }
  [[nodiscard]] bool has(const char* key) const;
  [[nodiscard]] bool has_list(const char* key) const;
  [[nodiscard]] std::string path_of(std::string_view key) const;

  /// Text of a key; "" with a finding when it is missing or not text. HCCL wants numbers as text:
  /// a bare one is repairable.
  [[nodiscard]] std::string text(const char* key) const;
  [[nodiscard]] std::string text_or_empty(const char* key) const;
  /// A decimal number from 0 to `max`, written as text; nothing, with a finding, when it is not.
  [[nodiscard]] std::optional<int> number(const char* key, int max = 1'000'000'000) const;
  /// The objects of a list; other items are findings. Empty, with a finding, when it is missing.
  [[nodiscard]] std::vector<Cursor> objects(const char* key) const;
  [[nodiscard]] std::vector<std::string> texts(const char* key) const;
  /// A count that must be the size of a list beside it (where that is a list), or of something else
  /// that was read. One that is not required may be absent.
  void expect_size(const char* key, const char* list, const char* of, bool required) const;
  void expect_count(const char* key, std::size_t actual, const char* of, bool required) const;
  /// Keys that no form of rank tables has, as notes.
  void note_unknown(std::initializer_list<std::string_view> known) const;

  void invalid(std::string_view key, std::string message, std::string advice = {}) const;
  void note(std::string_view key, std::string message, std::string advice = {}) const;

 private:
  const Json* json_;
  std::string path_;
  Findings* findings_;
};

/// Where a device's values stand in the file.
struct DevicePlace {
  std::string device;  ///< path of the object that holds device_id and device_ip
  std::string rank;    ///< path of its rank, or of the device where the form has none
};

struct ServerPlace {
  std::string server;
  std::vector<DevicePlace> devices;
};

/// What the readers of the forms fill in: places[i] belongs to table.servers[i].
struct TableDraft {
  TableForm form = TableForm::v1_0;
  RankTable table;
  std::vector<ServerPlace> places;
  bool dropped = false;  ///< a device could not be read, so gaps after it are expected
};

/// The reader of the forms 1.0 and 1.2, and that of cloud and lab. Structure and counts only.
void read_server_list(const Cursor& root, TableDraft& draft);
void read_group_list(const Cursor& root, TableDraft& draft);

/// Device id and IPs, as every form has them. False when there is no usable id.
bool read_device(const Cursor& cursor, TableDevice& device);

/// The rules that all forms share: ids, IPs, ranks, equal servers.
void check_devices(const TableDraft& draft, const CheckOptions& options, Findings& findings);

/// HCCL's ranks of a table without any: by server_id as text, then by device id.
void assign_cloud_ranks(RankTable& table);

}  // namespace assay::rendezvous
