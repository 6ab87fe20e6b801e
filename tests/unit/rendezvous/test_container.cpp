#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/text.h"
#include "error_of.h"
#include "rendezvous/container.h"

namespace assay::rendezvous {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

plan::Container container_of(const std::string& runtime) {
  plan::Container container;
  container.runtime = runtime;
  container.image = "registry/train:1";
  container.mounts = {"/scratch:/scratch", "/models:/m:ro"};
  container.options = {"--own"};
  return container;
}

std::string rendered(const plan::Container& container) {
  const ContainerPlace place{"assay-x-r1-0", "/runs/n1", "/opt/assay", "/work", "/data"};
  return join(run_in_container(container, {"--gpus=all"}, place, {"python", "train.py"},
                               {"RANK", "WORLD_SIZE"}),
              " ");
}

TEST(ContainerCommand, OfDockerAndPodmanAreTheSame) {
  const std::string expected =
      " run --rm --name assay-x-r1-0 --network=host --ipc=host --pull=never --workdir /work "
      "--mount type=bind,source=/runs/n1,target=/runs/n1 --mount "
      "type=bind,source=/work,target=/work --mount "
      "type=bind,source=/opt/assay,target=/opt/assay,readonly --mount "
      "type=bind,source=/data,target=/data,readonly --volume /scratch:/scratch --volume "
      "/models:/m:ro --env RANK --env WORLD_SIZE --gpus=all --own registry/train:1 python "
      "train.py";
  EXPECT_EQ(rendered(container_of("docker")), "docker" + expected);
  EXPECT_EQ(rendered(container_of("podman")), "podman" + expected);
}

// Options as in `apptainer exec --help`: the environment is passed on without being asked.
TEST(ContainerCommand, OfApptainerMounts) {
  EXPECT_EQ(rendered(container_of("apptainer")),
            "apptainer exec --pwd /work --mount type=bind,source=/runs/n1,destination=/runs/n1 "
            "--mount type=bind,source=/work,destination=/work --mount "
            "type=bind,source=/opt/assay,destination=/opt/assay,ro --mount "
            "type=bind,source=/data,destination=/data,ro --bind /scratch:/scratch --bind "
            "/models:/m:ro --own registry/train:1 python train.py");
}

// A third field of enroot's --mount is all of the mount's options: "ro" alone would be no bind.
TEST(ContainerCommand, OfEnrootMountsAsFstabDoes) {
  EXPECT_EQ(rendered(container_of("enroot")),
            "enroot start --rw --mount /runs/n1:/runs/n1:x-create=auto,rbind --mount "
            "/work:/work:x-create=auto,rbind --mount "
            "/opt/assay:/opt/assay:x-create=auto,rbind,ro --mount "
            "/data:/data:x-create=auto,rbind,ro --mount /scratch:/scratch:x-create=auto,rbind "
            "--mount /models:/m:x-create=auto,rbind,ro --env RANK --env WORLD_SIZE --own "
            "registry/train:1 python train.py");
}

TEST(ContainerCommand, PathsWithColonsCommasAndQuotesAreMountedOrRefused) {
  const ContainerPlace place{"c", R"(/runs/a:b,c"d)", "", "", ""};
  plan::Container container = container_of("docker");
  container.mounts = {};
  EXPECT_THAT(run_in_container(container, {}, place, {"x"}, {}),
              Contains(R"(type=bind,"source=/runs/a:b,c""d","target=/runs/a:b,c""d")"));
  container.runtime = "enroot";
  EXPECT_THAT(assay::testing::error_of(
                  [&] { return run_in_container(container, {}, place, {"x"}, {}).size(); }),
              HasSubstr("cannot mount a path with a colon"));
}

// Beside the image's own programs, where its PATH looks before it comes to theirs.
TEST(ContainerCommand, ThatMayReachOtherNodesHasAnSsh) {
  ContainerPlace place{"c", "/runs/n1", "/opt/assay", "", ""};
  place.ssh_folder = "/tmp/assay-ssh-1-0";
  plan::Container container = container_of("podman");
  container.mounts = {};
  const auto mounts = [&] { return run_in_container(container, {}, place, {"x"}, {}); };
  EXPECT_THAT(mounts(), Contains("type=bind,source=/opt/assay/assay-agent,"
                                 "target=/usr/local/bin/ssh,readonly"));
  EXPECT_THAT(mounts(),
              Contains("type=bind,source=/tmp/assay-ssh-1-0,target=/tmp/assay-ssh-1-0,readonly"));
  EXPECT_THAT(mounts(), ::testing::Not(Contains("--interactive")));
  place.interactive = true;
  EXPECT_THAT(mounts(), Contains("--interactive"));
  // The node's folder would get a file, or is read only.
  for (const char* mount : {"/usr:/usr:ro", "/tools:/usr/local/bin", "/x:/usr/local/bin/ssh"}) {
    container.mounts = {mount};
    EXPECT_THAT(mounts(), ::testing::Not(Contains(HasSubstr("target=/usr/local/bin/ssh"))))
        << mount;
  }
  container.mounts = {"/usr/share:/usr/share:ro", "/usr/local/bin2:/usr/local/bin2"};
  EXPECT_THAT(mounts(), Contains(HasSubstr("target=/usr/local/bin/ssh")));
}

TEST(ContainerCommand, NothingIsMountedTwice) {
  plan::Container container = container_of("podman");
  container.mounts = {"/elsewhere:/data:ro"};
  const ContainerPlace place{"c", "/runs/n1", "", "/runs/n1", "/data"};
  const auto words = run_in_container(container, {}, place, {"x"}, {});
  EXPECT_EQ(std::ranges::count(words, "--mount"), 1);
  EXPECT_EQ(std::ranges::count(words, "--volume"), 1);
}

TEST(ContainerCommand, RemovesByNameWhatDoesNotEndWithItsProcess) {
  EXPECT_THAT(remove_container(container_of("docker"), "c"),
              ElementsAre("docker", "rm", "--force", "c"));
  EXPECT_THAT(remove_container(container_of("podman"), "c"),
              ElementsAre("podman", "rm", "--force", "--time", "0", "--ignore", "c"));
  EXPECT_THAT(remove_container(container_of("apptainer"), "c"), IsEmpty());
}

TEST(ContainerCommand, AnImageIsLookedForBeforeItIsPulledOrLoaded) {
  plan::Container container = container_of("docker");
  EXPECT_THAT(
      image_commands(container),
      ElementsAre(ElementsAre("docker", "image", "inspect", "--format", " ", "registry/train:1"),
                  ElementsAre("docker", "pull", "registry/train:1")));
  container.load = "/images/train.tar";
  EXPECT_THAT(image_commands(container)[1],
              ElementsAre("docker", "load", "--input", "/images/train.tar"));
}

TEST(MountedFolders, AreThoseOfTheNodeByTheirPathsInside) {
  plan::Container container;
  container.image = "image";
  container.mounts = {"/srv/code:/work:ro", "named:/cache"};
  const ContainerPlace place{"c", "/runs/n1", "", "/work", "/data"};
  EXPECT_EQ(mounted_folders(container, place),
            (std::map<std::string, std::string>{
                {"/runs/n1", "/runs/n1"}, {"/work", "/srv/code"}, {"/data", "/data"}}));
}

TEST(ContainerCommand, WhoEntersOneIsInsideAndNoProcessOfTheRound) {
  EXPECT_THAT(
      exec_in_container(container_of("podman"), "assay-x-r1-0"),
      ElementsAre("podman", "exec", "--interactive", "--env", "ASSAY_ROUND_ID=", "assay-x-r1-0"));
  EXPECT_THAT(exec_in_container(container_of("enroot"), "assay-x-r1-0"),
              ElementsAre("enroot", "exec", "{pid}"));
  EXPECT_THAT(exec_in_container(container_of("apptainer"), "assay-x-r1-0"), IsEmpty());
}

}  // namespace
}  // namespace assay::rendezvous
