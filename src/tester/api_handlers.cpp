#include <algorithm>
#include <array>
#include <memory>
#include <mutex>
#include <utility>

#include <fmt/format.h>

#include "core/files.h"
#include "core/json_access.h"
#include "core/json_error.h"
#include "core/json_fields.h"
#include "core/parse_number.h"
#include "core/regular_file.h"
#include "core/run_layout.h"
#include "core/text.h"
#include "core/time.h"
#include "core/version.h"
#include "evidence/key_store.h"
#include "report/read_result.h"
#include "serve/log.h"
#include "tester/api_call.h"
#include "tester/failure.h"
#include "tester/pages.h"
#include "tester/test_file.h"

namespace assay::tester {

namespace {

constexpr std::size_t kMaxSmallBody = 256U << 10;
constexpr std::size_t kMaxManifest = 8U << 20;
constexpr std::size_t kMaxSystem = 64U << 10;
constexpr std::array<const char*, 5> kAisFields{"Mode", "Model", "Divsion", "Scenario",
                                                "test_object_type"};

std::optional<std::int64_t> number_of(std::string_view text) {
  return parse_number<std::int64_t>(text, 0, std::int64_t{1} << 53);
}

std::int64_t parameter(const http::Query& query, std::string_view name, std::int64_t fallback,
                       std::int64_t min, std::int64_t max) {
  for (const auto& [key, value] : query) {
    if (key != name) continue;
    const auto number = number_of(value);
    if (!number || *number < min || *number > max)
      throw serve::Refusal(
          400, "bad_parameter",
          fmt::format("'{}' must be a whole number from {} to {}", name, min, max));
    return *number;
  }
  return fallback;
}

Json checked_ais(const Json& body) {
  const auto ais = body.find("ais");
  if (ais == body.end() || ais->is_null()) return nullptr;
  if (!ais->is_object()) throw serve::Refusal(400, "bad_field", "'ais' must be an object");
  for (const auto& [key, value] : ais->items())
    if (std::ranges::find(kAisFields, key) == kAisFields.end())
      throw serve::Refusal(400, "bad_field",
                           "'ais' has a field that is not known: " + printable(key),
                           "known: Mode, Model, Divsion, Scenario, test_object_type");
  Json out = Json::object();
  for (const char* key : kAisFields)
    if (ais->contains(key)) out[key] = serve::text_field(*ais, key, 200);
  return out;
}

}  // namespace

bool is_test_id(std::string_view text) {
  if (text.size() != 15 || text[8] != '-') return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool digit = c >= '0' && c <= '9';
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (i < 8 ? !digit : i > 8 && !digit && !letter) return false;
  }
  return true;
}

Json to_json(const TestRecord& test) {
  Json out = {{"test_id", test.id},      {"name", test.name}, {"status", to_text(test.status)},
              {"created", test.created}, {"by", test.token},  {"bytes", test.bytes}};
  if (!test.finished.empty()) out["finished"] = test.finished;
  if (!test.verdict.empty()) out["verdict"] = test.verdict;
  if (!test.run_id.empty()) out["run_id"] = test.run_id;
  if (!test.suite.empty()) out["suite"] = test.suite;
  if (!test.system.is_null()) out["system"] = test.system;
  if (!test.ais.is_null()) out["ais"] = test.ais;
  return out;
}

serve::HttpResponse json_response(const Json& json, int status) {
  serve::HttpResponse response;
  response.status = status;
  response.body = dump_pretty(json);
  return response;
}

TestRecord Api::test_of(const Call& call) {
  const std::string& id = call.request.parameters.at(0);
  std::optional<TestRecord> test;
  if (is_test_id(id)) test = records_.test(id);
  if (!test) throw serve::Refusal(404, "no_such_test", "there is no such test");
  return *test;
}

TestRecord Api::own_test(const Call& call) {
  TestRecord test = test_of(call);
  if (test.token != call.token)
    throw serve::Refusal(403, "not_yours", "the test belongs to another token",
                         "send with the token that made it");
  return test;
}

std::optional<serve::HttpResponse> Api::health(const Call& /*call*/) {
  return json_response({{"status", "ok"}, {"assay", version_string()}});
}

std::optional<serve::HttpResponse> Api::show_test(const Call& call) {
  const TestRecord test = test_of(call);
  Json out = to_json(test);
  if (!test.answer.is_null()) out["answer"] = test.answer;
  return json_response(out);
}

std::optional<serve::HttpResponse> Api::make_test(const Call& call) {
  const Json body =
      serve::parse_body(call.request.body.empty() ? "{}" : call.request.body, kMaxSmallBody);
  TestRecord wanted;
  wanted.token = call.token;
  wanted.name = serve::text_field(body, "name", 200);
  wanted.ais = checked_ais(body);
  if (const auto system = body.find("system"); system != body.end() && !system->is_null()) {
    if (!system->is_object()) throw serve::Refusal(400, "bad_field", "'system' must be an object");
    if (dump_line(*system).size() > kMaxSystem)
      throw serve::Refusal(413, "too_large", "'system' has more than 64 KiB");
    wanted.system = *system;
  }
  const std::string key = call.request.header("idempotency-key");
  if (key.size() > 128)
    throw serve::Refusal(400, "bad_field", "Idempotency-Key has more than 128 bytes");
  bool is_new = false;
  const TestRecord test = records_.make_test(wanted, key, is_new, limits_.open_tests);
  return json_response({{"test_id", test.id},
                        {"upload",
                         {{"part_bytes", limits_.part_bytes},
                          {"test_bytes", limits_.manifest.bytes},
                          {"files", limits_.manifest.files}}}},
                       is_new ? 201 : 200);
}

std::optional<serve::HttpResponse> Api::put_manifest(const Call& call) {
  const TestRecord test = own_test(call);
  if (test.status == TestStatus::accepted || test.status == TestStatus::refused)
    throw serve::Refusal(409, "finished", "the test has ended", "make a new one");
  const Json body = serve::parse_body(call.request.body, kMaxManifest);
  const Manifest manifest = parse_manifest(body, limits_.manifest);
  const bool reserved = true_at(body, "reserved");
  try {
    records_.set_manifest(test.id, manifest, limits_.quota, reserved);
  } catch (const serve::Refusal& refusal) {
    if (refusal.status != 507) throw;
    expire();
    records_.set_manifest(test.id, manifest, limits_.quota, reserved);
  }
  if (const auto described = records_.test(test.id))
    write_test_file(uploads_.folder(test.id), *described, manifest);
  return json_response({{"test_id", test.id}, {"files", manifest.files.size()}});
}

Api::Part Api::part_of(const Call& call) {
  const TestRecord test = own_test(call);
  const auto number = number_of(call.request.parameters.at(1));
  const auto file = number ? records_.file(test.id, *number) : std::nullopt;
  if (!file) throw serve::Refusal(404, "no_such_file", "the manifest has no such file");
  if (test.status == TestStatus::refused)
    throw serve::Refusal(409, "finished", "the test has ended", "make a new one");
  return {test, *number, *file};
}

std::optional<serve::HttpResponse> Api::file_state(const Call& call) {
  const auto [test, number, file] = part_of(call);
  return json_response(
      {{"received", uploads_.received(test.id, number, file)}, {"size", file.size}});
}

std::optional<serve::HttpResponse> Api::put_part(const Call& call) {
  const auto [test, number, file] = part_of(call);
  const auto offset =
      static_cast<std::uint64_t>(parameter(call.query, "offset", 0, 0, std::int64_t{1} << 53));
  const std::string encoding = to_lower(trim(call.request.header("content-encoding")));
  if (!encoding.empty() && encoding != "identity" && encoding != "zstd")
    throw serve::Refusal(415, "bad_encoding", "the part has an encoding that is not known",
                         "send it as it is, or with Content-Encoding: zstd");
  if (call.request.body.size() > limits_.part_bytes)
    throw serve::Refusal(413, "too_large",
                         fmt::format("a part has at most {} bytes", limits_.part_bytes),
                         "send the file in smaller parts");
  const std::uint64_t room = file.size - std::min(file.size, offset);
  const std::string part =
      encoding == "zstd"
          ? unpack_zstd(call.request.body, std::min<std::uint64_t>(room, limits_.part_bytes))
          : call.request.body;
  return json_response(
      {{"received", uploads_.append(test.id, number, file, offset, part)}, {"size", file.size}});
}

namespace {

serve::HttpResponse finished_response(const TestRecord& test) {
  Json answer = test.answer;
  answer["page"] = "/tests/" + test.id;
  return json_response(answer, test.status == TestStatus::accepted ? 200 : 422);
}

}  // namespace

std::optional<serve::HttpResponse> Api::finish(const Call& call) {
  const TestRecord test = own_test(call);
  if (test.status == TestStatus::accepted || test.status == TestStatus::refused)
    return finished_response(test);
  // Whichever comes first, the judgement or the timeout, answers; the other finds nothing left.
  struct Waiting {
    std::mutex lock;
    serve::HttpServer::Respond answer;
  };
  const auto waiting = std::make_shared<Waiting>();
  waiting->answer = call.respond;
  const auto respond = [waiting](const serve::HttpResponse& response) {
    serve::HttpServer::Respond answer;
    {
      const std::scoped_lock lock(waiting->lock);
      answer = std::exchange(waiting->answer, nullptr);
    }
    if (answer) answer(response);
  };
  judgements_.judge(
      test.id, test.token, [this, respond, id = test.id](const std::optional<serve::Refusal>& why) {
        try {
          if (why) {
            respond(serve::response_of(*why));
          } else if (const auto ended = records_.test(id); ended && !ended->answer.is_null()) {
            respond(finished_response(*ended));
          } else {
            respond(serve::response_of(serve::Refusal(404, "no_such_test", "the test is gone")));
          }
        } catch (const std::exception& error) {
          serve::log_error(fmt::format("test {}: {}", id, plain_error(error)));
          respond(serve::response_of(failure_of(error, "the tester failed")));
        }
      });
  call_after_(limits_.patience, [respond, id = test.id] {
    serve::HttpResponse response = json_response({{"status", "judging"}, {"test_id", id}}, 202);
    response.headers.emplace_back("Retry-After", "1");
    respond(response);
  });
  return std::nullopt;
}

Json Api::listed(const Call& call) {
  const http::Query& query = call.query;
  TestQuery wanted;
  wanted.page = parameter(query, "page", 1, 1, 1'000'000);
  wanted.per_page = parameter(query, "per_page", 25, 1, 100);
  for (const auto& [key, value] : query) {
    if (value.empty()) continue;
    if (key == "text") wanted.text = value;
    if (key == "order") wanted.descending = value != "up";
    if (key == "status") {
      wanted.status = parse_enum<TestStatus>(value);
      if (!wanted.status)
        throw serve::Refusal(400, "bad_parameter", "there is no such status",
                             "one of: open, uploading, accepted, refused");
    }
    if (key == "sort") {
      const auto sort = parse_enum<TestSort>(value);
      if (!sort)
        throw serve::Refusal(400, "bad_parameter", "tests are not sorted by that",
                             "one of: " + enum_choices<TestSort>());
      wanted.sort = *sort;
    }
  }
  const TestPage found = records_.list(wanted);
  Json tests = Json::array();
  for (const TestRecord& test : found.tests) {
    Json entry = to_json(test);
    entry.erase("system");
    entry["number"] = test.number;
    if (!test.machine.empty()) entry["machine"] = test.machine;
    tests.push_back(std::move(entry));
  }
  return {{"tests", std::move(tests)},
          {"page", wanted.page},
          {"per_page", wanted.per_page},
          {"total", found.total}};
}

std::optional<serve::HttpResponse> Api::list(const Call& call) {
  return json_response(listed(call));
}

std::optional<serve::HttpResponse> Api::page_of_tests(const Call& call) {
  return list_page(listed(call), call.query);
}

std::optional<serve::HttpResponse> Api::page_of_test(const Call& call) {
  const TestRecord test = test_of(call);
  // Uses the keys known now, whenever the test was judged.
  const std::string key = records_.public_key_of(test.id);
  TestRecord shown = test;
  if (!key.empty() && shown.answer.contains("evidence")) {
    const std::string name = evidence::KeyStore(board_.keys).name_of(key);
    shown.answer["evidence"]["seal"]["signer"] = name;
  }
  return test_page(shown, records_.challenges_of(test.id));
}

std::optional<serve::HttpResponse> Api::make_challenge(const Call& call) {
  const Json body = serve::parse_body(call.request.body, kMaxSmallBody);
  const std::string id = serve::text_field(body, "test", 40);
  const std::optional<TestRecord> test = is_test_id(id) ? records_.test(id) : std::nullopt;
  if (!test) throw serve::Refusal(404, "no_such_test", "there is no such test");
  if (test->status != TestStatus::accepted)
    throw serve::Refusal(409, "not_accepted", "only an accepted test can be measured again");
  std::int64_t valid_s = std::int64_t{24} * 3600;
  if (const auto given = body.find("valid_s"); given != body.end() && !given->is_null()) {
    constexpr std::int64_t kLongest = std::chrono::seconds(kMaxChallengeTime).count();
    if (!given->is_number_integer() || *given < 1 || *given > kLongest)
      throw serve::Refusal(400, "bad_field",
                           fmt::format("'valid_s' must be a whole number from 1 to {}", kLongest));
    valid_s = given->get<std::int64_t>();
  }
  const judge::RunResult result = report::read_result(uploads_.folder(test->id) / layout::kResult);
  const Challenge challenge = new_challenge(test->id, result, serve::text_field(body, "case", 400),
                                            wall_now_ns(), std::chrono::seconds(valid_s));
  records_.add_challenge(challenge, call.token);
  return json_response({{"challenge", fields_to_json(challenge)}}, 201);
}

std::optional<serve::HttpResponse> Api::show_challenge(const Call& call) {
  const auto found = records_.challenge(call.request.parameters.at(0));
  if (!found) throw serve::Refusal(404, "no_such_challenge", "there is no such challenge");
  Json out{{"challenge", fields_to_json(found->challenge)}, {"by", found->by}};
  if (!found->answered_by.empty()) out["answered_by"] = found->answered_by;
  return json_response(out);
}

std::optional<serve::HttpResponse> Api::report(const Call& call) {
  return file_of(call, layout::kReportHtml, "text/html; charset=utf-8");
}

std::optional<serve::HttpResponse> Api::result(const Call& call) {
  return file_of(call, layout::kResult, "application/json");
}

serve::HttpResponse Api::file_of(const Call& call, std::string_view name, const std::string& type) {
  const TestRecord test = test_of(call);
  if (test.status != TestStatus::accepted)
    throw serve::Refusal(
        404, "no_result",
        "the test has no result: its status is " + std::string(to_text(test.status)));
  serve::HttpResponse response;
  response.type = type;
  response.body = read_regular_file(uploads_.folder(test.id) / name);
  // The page is made here, but from data that was sent: no scripts, no origin, nothing loaded.
  response.headers.emplace_back("Content-Security-Policy",
                                "sandbox; default-src 'none'; style-src 'unsafe-inline'; "
                                "img-src data:");
  return response;
}

void Api::expire() {
  const auto before = [now_ns = wall_now_ns()](std::chrono::hours time) {
    return iso_utc(now_ns - std::chrono::nanoseconds(time).count());
  };
  for (const std::string& id :
       records_.unfinished_before(before(limits_.keep_unfinished), before(limits_.keep_empty))) {
    uploads_.remove(id);  // first: a folder without a test would be taken in again
    records_.remove_test(id);
  }
}

}  // namespace assay::tester
