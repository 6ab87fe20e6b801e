#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cloud/iam.h"
#include "cloud/modelarts.h"
#include "cloud/sync.h"
#include "core/files.h"
#include "e2e/cloud/emulator_process.h"
#include "error_of.h"

namespace assay::cloud {
namespace {

namespace fs = std::filesystem;
using ::assay::testing::error_of;

class Secrets : public EmulatorTest {
 protected:
  /// What `f` says when it fails is written, as a log would have it.
  void say(const std::function<void()>& f) {
    said_ += error_of([&] {
               f();
               return 0;
             }) +
             "\n";
  }
  std::string said_;
};

/// Every way to fail is taken; then all that was written anywhere is searched.
TEST_F(Secrets, AreInNothingThatIsWritten) {
  IamOptions iam;
  iam.endpoint = url();
  iam.user = "tester";
  iam.password = password_;
  iam.domain = "assay";
  iam.project_name = "emulated-1";
  IamTokens tokens(client_, iam);
  TemporaryCredentials temporary(tokens, std::chrono::minutes(15));
  const std::string token = tokens.get();
  const Credentials key = temporary.get();
  std::vector<std::string> secrets = {secret_key_, password_, token, key.secret_key,
                                      key.security_token};

  const auto file = make_file("code/large.bin", 2 << 20);
  for (CredentialSource* source : {static_cast<CredentialSource*>(&credentials_),
                                   static_cast<CredentialSource*>(&temporary)}) {
    ObsBucket store(client_, *source, obs_options(), "bucket-one");
    (void)sync_files(store, content_of(folder_ / "code").files, "code/");
    (void)store.get_file("code/large.bin", folder_ / "back.bin");
    say([&] { (void)store.get("missing"); });
    fault({{"kind", "drop-reply"}, {"count", -1}});
    say([&] { (void)store.get("code/large.bin"); });
    clear_faults();
    fault({{"kind", "html"}});
    say([&] { (void)store.list(""); });
    // A service that repeats what it was sent.
    for (const auto& secret : secrets) {
      fault({{"kind", "status"}, {"status", 403}, {"code", secret}});
      say([&] { (void)store.put("key", "x"); });
    }
    ModelArtsService service(client_, *source, url(), "0123456789abcdef0123456789abcdef");
    say([&] { (void)TrainingJobs(service).get("missing"); });
    fault({{"kind", "status"}, {"status", 500}, {"code", secret_key_}, {"count", 6}});
    say([&] { (void)TrainingJobs(service).flavors(); });
  }
  ModelArtsService service(client_, tokens, url(), tokens.project_id());
  say([&] { (void)TrainingJobs(service).get("missing"); });
  expire_tokens();
  fault(
      {{"kind", "status"}, {"status", 401}, {"code", password_}, {"path", "/v3/"}, {"count", -1}});
  say([&] { (void)TrainingJobs(service).flavors(); });
  (void)temporary.renew(key);
  say([&] { (void)temporary.get(); });
  http::ClientOptions through = quick();
  through.proxy = "http://proxy-user:proxy-password-1@127.0.0.1:1";
  http::Client proxied(through);
  ObsBucket unreachable(proxied, credentials_, obs_options(), "bucket-one");
  say([&] { (void)unreachable.get("key"); });
  secrets.emplace_back("proxy-password-1");

  EXPECT_THAT(said_, ::testing::HasSubstr("***"));  // the search below had something to find
  EXPECT_THAT(said_, ::testing::Not(::testing::HasSubstr("no error")));
  write_file_atomic(folder_ / "said.log", said_, false);
  std::size_t searched = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder_)) {
    // The emulator is told its account in this file.
    if (!entry.is_regular_file() || entry.path().filename() == "emulator.json") continue;
    ++searched;
    const std::string content = read_file(entry.path());
    for (const auto& secret : secrets)
      EXPECT_EQ(content.find(secret), std::string::npos) << entry.path() << "\n"
                                                         << content.substr(0, 4000);
  }
  EXPECT_GE(searched, 4U);
}

}  // namespace
}  // namespace assay::cloud
