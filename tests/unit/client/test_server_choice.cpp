#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "client/server_choice.h"
#include "core/error.h"
#include "core/files.h"
#include "small_server.h"
#include "temporary_folder.h"

namespace assay::client {
namespace {

using ::testing::HasSubstr;

class ServerChoice : public ::testing::Test {
 protected:
  ServerChoice() {
    places_.variable = [this](const char* name) { return variables_[name]; };
    places_.login_file = folder_.path() / "config/server.json";
    places_.data = folder_.path() / "data";
    make_directories(places_.data);
  }
  void write_secret(const std::filesystem::path& file, const std::string& text) {
    write_file_atomic(file, text);
    ASSERT_EQ(::chmod(file.c_str(), 0600), 0);
  }
  void server_here() {
    write_file_atomic(places_.data / "server.json", R"({"url": "http://127.0.0.1:8480"})");
    write_secret(places_.data / "admin.token", "admin-token\n");
  }

  testing::TemporaryFolder folder_;
  std::map<std::string, std::string> variables_;
  ServerPlaces places_;
};

TEST_F(ServerChoice, IsTheCommandLineThenTheEnvironmentThenTheLoginThenThisMachine) {
  server_here();
  EXPECT_EQ(find_server(places_).url, "http://127.0.0.1:8480");
  EXPECT_EQ(find_server(places_).token, "admin-token");

  write_login(places_.login_file, {"https://kept:1", "kept-token", {}, {}});
  EXPECT_EQ(find_server(places_).url, "https://kept:1");
  EXPECT_EQ(find_server(places_).token, "kept-token");

  variables_["ASSAY_SERVER"] = "https://by-variable:2";
  variables_["ASSAY_TOKEN"] = "t";
  EXPECT_EQ(find_server(places_).url, "https://by-variable:2");
  EXPECT_EQ(find_server(places_).token, "t");

  places_.given_url = "https://given:3";
  EXPECT_EQ(find_server(places_).url, "https://given:3");
}

TEST_F(ServerChoice, ATokenThatWasKeptGoesToItsServerOnly) {
  server_here();
  write_login(places_.login_file, {"https://kept:1", "kept-token", {}, {}});
  places_.given_url = "https://other:1";
  EXPECT_EQ(find_server(places_).token, "");
  places_.given_url = "https://kept:1/";
  EXPECT_EQ(find_server(places_).token, "kept-token");
  places_.given_url = "http://127.0.0.1:8480";
  EXPECT_EQ(find_server(places_).token, "admin-token");
}

TEST_F(ServerChoice, ALoginIsForItsOwnerOnly) {
  write_login(places_.login_file, {"https://kept:1", "kept-token", {}, {}});
  struct stat about {};
  ASSERT_EQ(::stat(places_.login_file.c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777U, 0600U);

  ASSERT_EQ(::chmod(places_.login_file.c_str(), 0644), 0);
  const Error error = thrown_by([&] { (void)find_server(places_); });
  EXPECT_THAT(error.what(), HasSubstr("others can read this file"));
  EXPECT_THAT(error.what(), HasSubstr("chmod 600"));
}

TEST_F(ServerChoice, SaysWhatCanBeDoneWhenThereIsNone) {
  const Error error = thrown_by([&] { (void)find_server(places_); });
  EXPECT_EQ(error.kind(), ErrorKind::usage);
  EXPECT_THAT(error.advice(), HasSubstr("assay login URL"));
}

TEST_F(ServerChoice, ADamagedLoginIsSaidWithItsFile) {
  make_directories(places_.login_file.parent_path());
  for (const char* damaged : {"{", "[]", R"({"token": "t"})", R"({"url": 5})"}) {
    write_secret(places_.login_file, damaged);
    const Error error = thrown_by([&] { (void)find_server(places_); });
    EXPECT_THAT(error.what(), HasSubstr(places_.login_file.string())) << damaged;
  }
}

TEST(IsPrivate, WithTLSOrOnThisMachine) {
  EXPECT_TRUE(is_private({.url = "https://far:1"}));
  EXPECT_TRUE(is_private({.url = "http://127.0.0.1:8480"}));
  EXPECT_TRUE(is_private({.url = "http://localhost:8480"}));
  EXPECT_TRUE(is_private({.url = "http://[::1]:8480"}));
  EXPECT_FALSE(is_private({.url = "http://localhost.example.com:8480"}));
  EXPECT_FALSE(is_private({.url = "http://far:8480"}));
}

}  // namespace
}  // namespace assay::client
