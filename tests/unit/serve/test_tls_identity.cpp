#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "core/time.h"
#include "error_of.h"
#include "made_certificate.h"
#include "serve/tls_identity.h"
#include "temporary_folder.h"

namespace assay::serve {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::MadeCertificate;

constexpr long kDay = 24L * 3600;

class TlsIdentityTest : public ::testing::Test {
 protected:
  TlsIdentityTest() { MadeCertificate::for_a_year().write(certificate_, key_); }

  [[nodiscard]] std::string problem() const {
    return error_of([&] {
      const TlsIdentity identity(certificate_, key_);
      return 0;
    });
  }
  [[nodiscard]] std::vector<std::string> warnings() const {
    return TlsIdentity(certificate_, key_).warnings(wall_now_ns());
  }

  testing::TemporaryFolder folder_;
  fs::path certificate_ = folder_.path() / "server.crt";
  fs::path key_ = folder_.path() / "server.key";
};

TEST_F(TlsIdentityTest, ACertificateWithItsKeyIsFine) {
  EXPECT_THAT(warnings(), IsEmpty());
}

TEST_F(TlsIdentityTest, TheKeyOfAnotherCertificateIsRefused) {
  write_file_atomic(key_, MadeCertificate::for_a_year().key, false);
  EXPECT_THAT(problem(), AllOf(HasSubstr(key_.string()), HasSubstr("mismatch")));
}

TEST_F(TlsIdentityTest, AFileThatIsNoPemIsNamed) {
  write_file_atomic(certificate_, "hello\n", false);
  EXPECT_THAT(problem(), AllOf(HasSubstr(certificate_.string()), HasSubstr("cannot use")));
}

TEST_F(TlsIdentityTest, APipeInPlaceOfAFileIsNotWaitedFor) {
  for (const fs::path& file : {certificate_, key_}) {
    const std::string content = read_file(file);
    fs::remove(file);
    ASSERT_EQ(::mkfifo(file.c_str(), 0600), 0);
    EXPECT_THAT(problem(), AllOf(HasSubstr(file.string()), HasSubstr("regular file")));
    fs::remove(file);
    write_file_atomic(file, content, false);
  }
}

TEST_F(TlsIdentityTest, NobodyIsAskedForAPassPhrase) {
  MadeCertificate::make(-kDay, 99 * kDay, "open sesame").write(certificate_, key_);
  EXPECT_THAT(problem(), AllOf(HasSubstr(key_.string()), HasSubstr("pass phrase")));
}

TEST_F(TlsIdentityTest, ACertificateWhoseTimeIsNotNowIsWarnedOf) {
  MadeCertificate::make(-9 * kDay, -kDay).write(certificate_, key_);
  EXPECT_THAT(warnings(), ElementsAre(HasSubstr("has expired")));
  MadeCertificate::make(kDay, 99 * kDay).write(certificate_, key_);
  EXPECT_THAT(warnings(), ElementsAre(HasSubstr("not valid before")));
  MadeCertificate::make(-kDay, 9 * kDay).write(certificate_, key_);
  EXPECT_THAT(warnings(), ElementsAre(HasSubstr("expires at")));
}

TEST_F(TlsIdentityTest, AKeyThatEverybodyCanReadIsWarnedOf) {
  fs::permissions(key_, fs::perms(0640));
  EXPECT_THAT(warnings(), IsEmpty()) << "a group that may is somebody's choice";
  fs::permissions(key_, fs::perms(0644));
  EXPECT_THAT(warnings(), ElementsAre(AllOf(HasSubstr(key_.string()), HasSubstr("chmod 600"))));
}

TEST_F(TlsIdentityTest, RenewedFilesAreUsedWhenTheyHaveSettled) {
  TlsIdentity identity(certificate_, key_);
  EXPECT_FALSE(identity.renew());
  MadeCertificate::make(-kDay, 9 * kDay).write(certificate_, key_);
  EXPECT_FALSE(identity.renew()) << "somebody may be writing them";
  EXPECT_THAT(identity.warnings(wall_now_ns()), IsEmpty());
  EXPECT_TRUE(identity.renew());
  EXPECT_THAT(identity.warnings(wall_now_ns()), ElementsAre(HasSubstr("expires at")));
  EXPECT_FALSE(identity.renew());
}

TEST_F(TlsIdentityTest, RenewedFilesThatCannotBeUsedAreSaidOnceAndTheOldOnesStay) {
  TlsIdentity identity(certificate_, key_);
  fs::remove(certificate_);
  EXPECT_FALSE(identity.renew());
  EXPECT_THAT(error_of([&] { return identity.renew(); }), HasSubstr(certificate_.string()));
  EXPECT_FALSE(identity.renew());
  EXPECT_THAT(identity.warnings(wall_now_ns()), IsEmpty());
  MadeCertificate::for_a_year().write(certificate_, key_);
  EXPECT_FALSE(identity.renew());
  EXPECT_TRUE(identity.renew());
}

}  // namespace
}  // namespace assay::serve
