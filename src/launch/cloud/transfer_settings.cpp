#include "launch/cloud/transfer_settings.h"

#include <cstdlib>

#include <fmt/format.h>

#include "core/error.h"
#include "core/files.h"
#include "core/json_access.h"
#include "core/text.h"
#include "core/units.h"

namespace assay::launch {

namespace {

/// Reads one key after the other, and knows what was not read.
class Keys {
 public:
  Keys(const Json& json, std::string where) : json_(json), where_(std::move(where)) {
    if (!json.is_object()) throw wrong("transfer", "an object");
  }

  void text(const char* key, std::string& into) {
    if (const Json* value = find(key)) into = text_of(key, *value);
  }
  void flag(const char* key, bool& into) {
    const Json* value = find(key);
    if (value == nullptr) return;
    if (!value->is_boolean()) throw wrong(key, "true or false");
    into = value->get<bool>();
  }
  void count(const char* key, int& into, int most) {
    const Json* value = find(key);
    if (value == nullptr) return;
    if (!value->is_number_integer() || *value < 1 || *value > most)
      throw wrong(key, fmt::format("a whole number from 1 to {}", most));
    into = value->get<int>();
  }
  void bytes(const char* key, std::uint64_t& into, std::uint64_t least) {
    const Json* value = find(key);
    if (value == nullptr) return;
    const auto size =
        parse_size(value->is_number_unsigned() ? value->dump() : text_of(key, *value));
    if (!size || *size < least)
      throw wrong(key, fmt::format("a size of at least {}", format_bytes(double(least))));
    into = *size;
  }
  void duration(const char* key, Nanoseconds& into) {
    const Json* value = find(key);
    if (value == nullptr) return;
    const auto time = parse_duration(value->is_number() ? value->dump() : text_of(key, *value));
    if (!time || *time < std::chrono::seconds(1) || *time > std::chrono::hours(1))
      throw wrong(key, "a time from 1s to 1h");
    into = *time;
  }
  void refuse_others() const {
    for (const auto& item : json_.items())
      if (std::ranges::find(known_, item.key()) == known_.end())
        throw Error(
            ErrorKind::config,
            "transfer has no '" + printable(item.key()) + "'" + did_you_mean(item.key(), known_),
            where_, "it has: " + join(known_, ", "));
  }
  [[nodiscard]] Error wrong(const std::string& key, const std::string& expected) const {
    return {ErrorKind::config, "'" + key + "' must be " + expected, where_};
  }

 private:
  const Json* find(const char* key) {
    known_.emplace_back(key);
    const auto at = json_.find(key);
    return at == json_.end() ? nullptr : &*at;
  }
  std::string text_of(const char* key, const Json& value) const {
    if (!value.is_string()) throw wrong(key, "text");
    return value.get<std::string>();
  }

  const Json& json_;
  std::string where_;
  std::vector<std::string> known_;
};

}  // namespace

cloud::ObsOptions TransferSettings::store_at(const std::string& endpoint) const {
  cloud::ObsOptions out = store;
  out.endpoint = endpoint;
  return out;
}

TransferSettings TransferSettings::within(Nanoseconds answer_limit) const {
  TransferSettings out = *this;
  if (answer_limit.count() > 0) out.client.total_limit = answer_limit;
  return out;
}

TransferSettings transfer_settings(const Json& json, const std::filesystem::path& base,
                                   const std::string& where, TransferSettings defaults) {
  TransferSettings out = std::move(defaults);
  Keys keys(json, where);
  std::string file;
  std::string signing = out.store.signing == cloud::ObsSigning::obs ? "obs" : "aws-v4";
  keys.text("ca_file", file);
  if (!file.empty()) out.client.ca_file = (base / file).lexically_normal();
  keys.text("proxy", out.client.proxy);
  keys.duration("stall", out.client.stall_timeout);
  keys.bytes("min_rate", out.client.min_rate, 1);
  keys.count("attempts", out.client.retry.attempts, 100);
  keys.text("signing", signing);
  keys.text("region", out.store.region);
  keys.flag("path_style", out.store.path_style);
  keys.count("parallel", out.store.parallel, 256);
  keys.bytes("part_size", out.store.part_size, 100 << 10);
  keys.bytes("multipart_from", out.store.multipart_from, 100 << 10);
  keys.refuse_others();
  if (signing != "obs" && signing != "aws-v4") throw keys.wrong("signing", "obs or aws-v4");
  out.store.signing = signing == "obs" ? cloud::ObsSigning::obs : cloud::ObsSigning::aws_v4;
  if (signing == "aws-v4" && out.store.region.empty())
    throw keys.wrong("region", "given with signing: aws-v4");
  std::error_code ec;
  if (!out.client.ca_file.empty() && !std::filesystem::is_regular_file(out.client.ca_file, ec))
    throw Error(ErrorKind::config, "there is no such ca_file", out.client.ca_file.string());
  return out;
}

TransferSettings TransferSettings::of_s3() {
  TransferSettings out;
  out.store.signing = cloud::ObsSigning::aws_v4;
  out.store.region = "us-east-1";
  out.store.path_style = true;
  return out;
}

TransferSettings read_transfer_settings(const std::filesystem::path& credentials,
                                        const TransferSettings& defaults) {
  if (!credentials.empty()) {
    // Not parse_json: its message would quote the file, which has secrets in it.
    const Json json = parse_json_or_null(read_file(credentials));
    if (json.is_object() && json.contains("transfer"))
      return transfer_settings(json["transfer"], credentials.parent_path(), credentials.string(),
                               defaults);
  }
  if (const char* path = std::getenv("ASSAY_CLOUD_TRANSFER"); path != nullptr && *path != '\0') {
    const std::filesystem::path file = std::filesystem::absolute(path);
    return transfer_settings(parse_json(read_file(file), file.string()), file.parent_path(),
                             file.string(), defaults);
  }
  return defaults;
}

}  // namespace assay::launch
