#include "site/pushed_runs.h"

#include "core/regular_file.h"
#include "core/run_layout.h"
#include "tester/api.h"

namespace assay::site {

rest::PushedRuns pushed_runs_of(tester::Records& records, tester::Uploads& uploads) {
  rest::PushedRuns out;
  out.list = [&records](std::int64_t most) {
    Json tests = Json::array();
    const tester::TestPage page =
        records.list({.per_page = most, .status = tester::TestStatus::accepted});
    for (const tester::TestRecord& test : page.tests)
      tests.push_back({{"id", test.id},
                       {"name", test.name.empty() ? test.run_id : test.name},
                       {"suite", test.suite},
                       {"verdict", test.verdict},
                       {"finished", test.finished},
                       {"machine", test.machine}});
    return tests;
  };
  out.result = [&records, &uploads](const std::string& id) -> std::optional<std::string> {
    if (!tester::is_test_id(id)) return std::nullopt;
    const auto test = records.test(id);
    if (!test || test->status != tester::TestStatus::accepted) return std::nullopt;
    return read_regular_file(uploads.folder(id) / layout::kResult);
  };
  return out;
}

}  // namespace assay::site
