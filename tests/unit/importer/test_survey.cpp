#include <algorithm>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "importer/flagperf.h"

namespace assay::importer {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const std::filesystem::path kCheckout =
    std::filesystem::path(ASSAY_SOURCE_DIR) / "tests/fixtures/flagperf";

const SurveyedFile& file(const ImportSurvey& survey, const std::string& name) {
  const auto found = std::ranges::find(survey.files, name, &SurveyedFile::file);
  if (found == survey.files.end()) throw Error(ErrorKind::internal, "not surveyed: " + name);
  return *found;
}

TEST(Survey, EveryPlainLiteralModuleOfTheCheckoutIsReadFully) {
  const ImportSurvey survey = import_survey(kCheckout);
  EXPECT_EQ(survey.files.size(), 17U);
  EXPECT_EQ(survey.fully, 12U);
  EXPECT_EQ(survey.partly, 4U);
  EXPECT_EQ(survey.unreadable, 1U);
  EXPECT_TRUE(file(survey, "kunlunxin/glm-pytorch/config/config_R300x2x8.py").fully_read);
  EXPECT_TRUE(file(survey, "nvidia/resnet50-tensorflow2/config/config_A100x1x8.py").fully_read);
  EXPECT_TRUE(file(survey, "ascend/aquila2_34B_container-in_container/config_256p.py").fully_read);
}

TEST(Survey, APartlyReadFileNamesWhatOnlyPythonKnows) {
  const ImportSurvey survey = import_survey(kCheckout / "training");
  const SurveyedFile& bert = file(survey, "nvidia/bert-pytorch/config/config_A100x1x8.py");
  ASSERT_EQ(bert.not_literal.size(), 1U);
  EXPECT_EQ(bert.not_literal[0].first, "grad_scaler");
  EXPECT_EQ(bert.not_literal[0].second, "a function call, GradScaler(…)");
  EXPECT_EQ(bert.values, 15U);
}

TEST(Survey, IsPrintedForPeopleAndAsJson) {
  const ImportSurvey survey = import_survey(kCheckout);
  const std::string text = render(survey);
  EXPECT_THAT(text, HasSubstr("17 files: 12 read fully, 4 partly, 1 that Python does not accept"));
  EXPECT_THAT(text, HasSubstr("broken-pytorch/config/config_MLUx1x1.py:2:8: error: a string is "
                              "not closed on its line"));
  EXPECT_THAT(text, Not(HasSubstr("glm-pytorch")));
  const Json json = to_json(survey);
  EXPECT_EQ(json.at("fully"), 12);
  EXPECT_EQ(json.at("details").size(), 17U);
}

TEST(Survey, AFolderThatIsNoCheckoutIsAnError) {
  try {
    static_cast<void>(import_survey(kCheckout / "training/benchmarks"));
    FAIL() << "expected an Error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::config);
    EXPECT_THAT(error.message(), HasSubstr("not a FlagPerf checkout"));
  }
}

}  // namespace
}  // namespace assay::importer
