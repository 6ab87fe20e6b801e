#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/files.h"
#include "core/sha256.h"
#include "probe/execution.h"
#include "temporary_folder.h"

namespace assay::probe {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Executions : public ::testing::Test {
 protected:
  void put(const std::string& name, const std::string& text) {
    fs::create_directories((folder_.path() / name).parent_path());
    write_file_atomic(folder_.path() / name, text);
  }
  Execution of(std::vector<std::string> argv) {
    query_.argv = std::move(argv);
    query_.workdir = folder_.path().string();
    return identify(query_, hashes_);
  }

  testing::TemporaryFolder folder_;
  ExecutionQuery query_;
  FileHashes hashes_;
};

TEST_F(Executions, TheProgramIsWhatPathLeadsTo) {
  put("bin/tool", "#!/bin/sh\n");
  fs::permissions(folder_.path() / "bin/tool", fs::perms::owner_all);
  query_.env["PATH"] = "/nowhere:" + (folder_.path() / "bin").string();
  const Execution found = of({"tool", "x"});
  EXPECT_EQ(found.program.path, (folder_.path() / "bin/tool").string());
  EXPECT_EQ(found.program.sha256, sha256("#!/bin/sh\n"));
  EXPECT_EQ(found.program.bytes, 10U);
}

TEST_F(Executions, AProgramThatIsNotThereHasAProblemInsteadOfAHash) {
  query_.env["PATH"] = "/nowhere";
  const Execution found = of({"tool"});
  EXPECT_EQ(found.program.sha256, "");
  EXPECT_THAT(found.program.problem, HasSubstr("No such file"));
}

TEST_F(Executions, SourceFilesThatTheCommandNamesAreHashed) {
  put("train.py", "print(1)");
  put("conf/a.yaml", "lr: 1");
  put("out.bin", "x");
  const Execution found =
      of({"/bin/sh", "-c", "exec python3 train.py --conf=conf/a.yaml > out.bin"});
  std::vector<std::string> names;
  for (const FileIdentity& file : found.files)
    names.push_back(fs::path(file.path).filename().string());
  EXPECT_THAT(names, ElementsAre("train.py", "a.yaml"));
  EXPECT_EQ(found.files.at(0).sha256, sha256("print(1)"));
}

TEST_F(Executions, TheCodeFolderIsKnownByItsSources) {
  put("a.py", "1");
  put("b/c.py", "2");
  const std::string before = of({"true"}).code->sha256;
  // What a training leaves beside its code changes nothing.
  put("b/__pycache__/c.pyc", "x");
  put(".git/config.py", "x");
  put("log.txt", "x");
  put("model.pt", "x");
  EXPECT_EQ(of({"true"}).code->sha256, before);
  put("b/c.py", "3");
  EXPECT_NE(of({"true"}).code->sha256, before);
  put("b/c.py", "2");
  EXPECT_EQ(of({"true"}).code->sha256, before);
}

TEST_F(Executions, AFolderThatIsTooLargeSaysSo) {
  put("a.py", "1");
  put("b.py", "2");
  EXPECT_TRUE(identify_folder(folder_.path(), hashes_).complete);
  EXPECT_FALSE(identify_folder(folder_.path(), hashes_, {.entries = 1}).complete);
}

TEST_F(Executions, OnlyTheEnvironmentThatMattersIsToldAndNoSecret) {
  ::setenv("OMP_NUM_THREADS", "7", 1);
  ::setenv("NCCL_TOKEN", "abc", 1);
  ::setenv("MY_DIARY", "dear", 1);
  query_.env = {{"RANK", "0"}, {"API_KEY", "abc"}};
  const Execution found = of({"true"});
  EXPECT_EQ(found.own.at("OMP_NUM_THREADS"), "7");
  EXPECT_EQ(found.own.at("NCCL_TOKEN"), "(hidden)");
  EXPECT_FALSE(found.own.contains("MY_DIARY"));
  EXPECT_EQ(found.given.at("RANK"), "0");
  EXPECT_EQ(found.given.at("API_KEY"), "(hidden)");
}

TEST_F(Executions, TheImageIsWhatItsQueryPrints) {
  query_.image_query = {"echo", "sha256:abc"};
  EXPECT_EQ(of({"true"}).image, "sha256:abc");
  query_.image_query = {"false"};
  EXPECT_EQ(of({"true"}).image, "");
}

// What `of` finds where the command runs in a container with the folder `inside` mounted.
class InContainer : public Executions {
 protected:
  Execution contained(std::vector<std::string> argv, const std::string& workdir) {
    query_.argv = std::move(argv);
    query_.workdir = workdir;
    query_.mounts = {{"/work", (folder_.path() / "code").string()}};
    query_.image_query = {"echo", "sha256:abc"};
    return identify(query_, hashes_);
  }
};

TEST_F(InContainer, AFileOfThisMachineWithTheSameNameIsNeverTakenForTheImages) {
  put("train.py", "of this machine");
  const std::string here = (folder_.path() / "train.py").string();
  const Execution found = contained({"/bin/sh", "-c", "python3 " + here + " other.py"}, "");
  EXPECT_EQ(found.program.path, "/bin/sh");
  EXPECT_EQ(found.program.sha256, "");
  EXPECT_EQ(found.program.problem, "in the image");
  ASSERT_EQ(found.files.size(), 2U);
  EXPECT_EQ(found.files[0].path, here);
  EXPECT_EQ(found.files[0].sha256, "");
  EXPECT_EQ(found.files[0].problem, "in the image");
  EXPECT_EQ(found.files[1].path, "other.py");
  EXPECT_EQ(found.image, "sha256:abc");
  EXPECT_FALSE(found.code);
}

TEST_F(InContainer, AProgramThatIsFoundOnThePathIsTheImages) {
  EXPECT_EQ(contained({"sh", "-c", "true"}, "/work").program.path, "sh");
  EXPECT_EQ(contained({"sh", "-c", "true"}, "/work").program.problem, "in the image");
}

TEST_F(InContainer, FilesOfMountedFoldersAreHashedWhereTheyLie) {
  put("code/train.py", "print(1)");
  put("code/run.sh", "exec python3 train.py");
  const Execution found = contained({"./run.sh", "train.py", "../etc/a.yaml"}, "/work");
  EXPECT_EQ(found.program.path, (folder_.path() / "code/run.sh").string());
  EXPECT_EQ(found.program.sha256, sha256("exec python3 train.py"));
  ASSERT_EQ(found.files.size(), 2U);
  EXPECT_EQ(found.files[0].sha256, sha256("print(1)"));
  EXPECT_EQ(found.files[1].problem, "in the image") << "out of the folder";
  ASSERT_TRUE(found.code);
  EXPECT_EQ(found.code->path, (folder_.path() / "code").string());
  EXPECT_EQ(found.code->files, 2U);
}

TEST_F(Executions, SurviveTheProtocol) {
  put("train.py", "print(1)");
  query_.data = {"train.py"};
  const Execution found = of({"/bin/sh", "train.py"});
  const Json json = fields_to_json(found);
  EXPECT_EQ(fields_to_json(fields_from_json<Execution>(json, "x")), json);
}

}  // namespace
}  // namespace assay::probe
