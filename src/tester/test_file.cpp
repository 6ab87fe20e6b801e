#include "tester/test_file.h"

#include "core/error.h"
#include "core/files.h"
#include "core/json_access.h"
#include "core/regular_file.h"
#include "core/run_layout.h"
#include "core/time.h"
#include "tester/api.h"

namespace assay::tester {

namespace fs = std::filesystem;

namespace {

constexpr const char* kRecovered = "recovered";

TestFile from_json(const Json& json, const std::string& id) {
  TestFile out;
  TestRecord& test = out.test;
  test.id = id;
  test.token = text_at(json, "by", kRecovered);
  test.name = text_at(json, "name");
  test.system = member_at(json, "system");
  test.ais = member_at(json, "ais");
  test.status = parse_enum<TestStatus>(text_at(json, "status")).value_or(TestStatus::open);
  test.created = text_at(json, "created");
  test.finished = text_at(json, "finished");
  test.verdict = text_at(json, "verdict");
  test.run_id = text_at(json, "run_id");
  test.suite = text_at(json, "suite");
  test.answer = member_at(json, "answer");
  if (const Json& manifest = member_at(json, "manifest"); manifest.is_object())
    out.manifest = parse_manifest(manifest, {.files = 1'000'000, .bytes = std::uint64_t{1} << 50});
  return out;
}

// The answer is the tester's own work; without it, the result is still the tester's.
TestFile from_result(const Json& result, TestFile known, const std::string& id) {
  TestRecord& test = known.test;
  test.id = id;
  if (test.token.empty()) test.token = kRecovered;
  test.status = TestStatus::accepted;
  test.verdict = text_at(result, "validity");
  test.run_id = text_at(result, "run_id");
  test.suite = text_at(result, "suite");
  test.answer = {{"status", "accepted"}, {"test_id", id}, {"verdict", test.verdict}};
  return known;
}

}  // namespace

void write_test_file(const fs::path& folder, const TestRecord& test,
                     const std::optional<Manifest>& manifest) {
  Json json = to_json(test);
  if (!test.answer.is_null()) json["answer"] = test.answer;
  if (manifest) json["manifest"] = to_json(*manifest);
  make_directories(folder);
  write_file_atomic(folder / kTestFile, dump_pretty(json));
}

std::optional<TestFile> read_test_file(const fs::path& folder) {
  const std::string id = folder.filename().string();
  if (!is_test_id(id)) return std::nullopt;
  TestFile known;
  known.test.id = id;
  const Json json = parse_json_or_null(read_regular_file_or_empty(folder / kTestFile));
  bool described = json.is_object() && text_at(json, "test_id") == id;
  if (described) try {
      known = from_json(json, id);
    } catch (const std::exception&) {
      described = false;  // its manifest is damaged, so the result decides
    }
  const bool finished = !known.test.finished.empty() && !known.test.answer.is_null();
  if (described && finished) return known;
  const Json result = parse_json_or_null(read_regular_file_or_empty(folder / layout::kResult));
  if (result.is_object() && !text_at(result, "run_id").empty()) {
    known = from_result(result, std::move(known), id);
    if (known.test.created.empty()) known.test.created = iso_utc(wall_now_ns());
    if (known.test.finished.empty()) known.test.finished = known.test.created;
    return known;
  }
  return described && known.manifest ? std::optional(known) : std::nullopt;
}

}  // namespace assay::tester
