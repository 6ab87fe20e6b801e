// The steps of the Apulis platform's training guide (docs/coming-from/apulis.md), each done in a
// browser: two hosts with GPUs and two with NPUs, as far as the platform knows, with one home. The
// frameworks and their images are stand-ins; ssh, mpirun's way of starting ranks, Jupyter and the
// browser are real.

#include <fstream>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "core/json_access.h"
#include "core/process.h"
#include "core/text.h"
#include "e2e/door/door_test.h"
#include "e2e/net_namespaces.h"
#include "needs.h"

namespace assay::e2e {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

// Starts a process for every slot of a hostfile over ssh, as horovodrun does it.
constexpr const char* kHorovodrun = R"(#!/usr/bin/env python3
import os, subprocess, sys
words, taken = sys.argv[1:], {}
while words and words[0].startswith('-'):
    taken[words[0]] = words[1]
    words = words[2:]
hosts = [line.split() for line in open(taken['-hostfile']).read().splitlines()]
for host, _ in hosts:
    subprocess.run(['ssh', '-o', 'StrictHostKeyChecking=no', host, '-p', taken['-p'], 'date'], check=True, stdout=subprocess.DEVNULL)
running, rank, size = [], 0, int(taken['-np'])
for host, slots in hosts:
    for local in range(int(slots.split('=')[1])):
        env = f'HOROVOD_RANK={rank} HOROVOD_SIZE={size} HOROVOD_LOCAL_RANK={local}'
        running.append(subprocess.Popen(['ssh', '-o', 'StrictHostKeyChecking=no', '-p', taken['-p'], host, f'cd {os.getcwd()} && env {env} ' + ' '.join(words)]))
        rank += 1
assert rank == size, (rank, size)
sys.exit(max(one.wait() for one in running))
)";

// Trains until there is a file `enough`: checkpoints, event files and PerfLog as an example has
// them.
constexpr const char* kMnist = R"(
import json, os, sys, time
checkpoints, logs = sys.argv[1:3]
rank = int(os.environ['HOROVOD_RANK'])
folder = os.environ['OWN']
open(f'{folder}/horovod-{rank}', 'w').write(os.environ['DLWS_ROLE_IDX'])
step = 0
while rank == 0 and not os.path.exists(f'{folder}/enough') and step < 3000:
    step += 1
    print('[PerfLog] ' + json.dumps({'event': 'STEP_END', 'value': {'loss': 2 / step, 'samples': 64}, 'step': step, 'metadata': {'time_ms': int(time.time() * 1000)}}), flush=True)
    if step % 10 == 1 and step < 40:
        open(f'{checkpoints}/checkpoint-{step // 10 + 1}.h5', 'w').write('weights')
    if step == 1:
        open(f'{logs}/events.out.tfevents.1', 'wb').write(b'\0' * 16)
    time.sleep(0.1)
)";

// Eight processes on each node, every one in a folder of its own, and nobody left when it is ended.
constexpr const char* kRun8p = R"(#!/bin/bash
env > "$OWN/env-$DLWS_ROLE_IDX"
cat "$RANK_TABLE_FILE" > "$OWN/table-$DLWS_ROLE_IDX"
export DEVICE_NUM=8
for ((i = 0; i < DEVICE_NUM; i++)); do
  export DEVICE_ID=$i RANK_ID=$((RANK_START + i))
  rm -rf ./train_parallel$RANK_ID && mkdir ./train_parallel$RANK_ID
  (cd ./train_parallel$RANK_ID && exec python3 "$OWN/mindspore.py") &
done
trap 'trap - SIGTERM && kill -- -$$' SIGINT SIGTERM EXIT
wait
)";
constexpr const char* kMindspore = R"(
import json, os, time
rank, own = os.environ['RANK_ID'], os.environ['OWN']
open('started', 'w').write(rank)
open(f"{own}/rank-{os.environ['PLACE']}-{rank}", 'w').write(os.getcwd())
for step in range(1, 30):
    print('[PerfLog] ' + json.dumps({'event': 'STEP_END', 'value': {'loss': 1 / step, 'samples': 32}, 'step': step, 'metadata': {'time_ms': int(time.time() * 1000), 'rank': int(rank)}}), flush=True)
    time.sleep(0.2)
)";

class GuideSteps : public DoorTest {
 protected:
  void SetUp() override {
    DoorTest::SetUp();
    if (!hosts_.missing().empty()) GTEST_SKIP() << hosts_.missing();
    if (!find_program("chromium")) GTEST_SKIP() << needs::package("chromium");
    if (!find_program("jupyter-notebook")) GTEST_SKIP() << needs::package("jupyter-notebook");
    write_program("horovodrun", kHorovodrun);
    write_program("sudo", "#!/bin/sh\nshift\nexec \"$@\"\n");  // of `sudo -E …`
    write_program("python", "#!/bin/sh\nexec python3 \"$@\"\n");
    write("tensorflow2_keras_mnist.py", kMnist);
    write("mindspore.py", kMindspore);
    for (const fs::path& code : {hosts_.home() / "root/code", hosts_.own_of(3), hosts_.own_of(4)}) {
      fs::create_directories(code);
      std::ofstream(code / "run_8p.sh") << kRun8p;
      fs::permissions(code / "run_8p.sh", fs::perms::owner_all);
    }
    std::string nodes = "nodes:\n";
    for (int host = 1; host <= 4; ++host) {
      nodes += fmt::format("  - {{name: n{0}, address: {1}, devices: 8, device_type: {2}", host,
                           hosts_.net().address(host), host <= 2 ? "Nvidia" : "huawei_npu_arm64");
      if (host > 2) {
        nodes += ", device_ips: [";
        for (int device = 0; device < 8; ++device)
          nodes += fmt::format("{}192.168.{}.{}", device == 0 ? "" : ", ", 10 + device % 4 * 10,
                               host * 2 + device / 4);
        nodes += "]";
      }
      nodes += "}\n";
    }
    const std::string cluster = hosts_.cluster();
    write("nodes.yaml", nodes + cluster.substr(cluster.find("ssh: {")));
  }

  void write_program(const std::string& name, const std::string& text) {
    fs::permissions(write(fs::relative(hosts_.bin(), folder_) / name, text), fs::perms::owner_all);
  }

  /// Runs a part of the story in the browser, with what it has to know.
  void story(const std::string& part) {
    serve({"--nodes", (folder_ / "nodes.yaml").string()});
    const CommandResult link = assay({"serve", "link", "--data", (folder_ / "tester").string()});
    ASSERT_TRUE(link.status.ok()) << link.err;
    const Json facts{{"link", std::string(trim(link.out))},
                     {"assay", ASSAY_BIN_DIR "/assay"},
                     {"folder", folder_.string()},
                     {"home", (hosts_.home() / "root").string()},
                     {"own", hosts_.own().string()},
                     {"addresses",
                      {hosts_.net().address(1), hosts_.net().address(2), hosts_.net().address(3),
                       hosts_.net().address(4)}}};
    write("facts.json", dump_line(facts));
    const CommandResult story =
        run_command({"python3", (fs::path(ASSAY_SOURCE_DIR) / "tests/web/guide_story.py").string(),
                     (folder_ / "facts.json").string(), part},
                    {.timeout = 350s, .env = {}});
    EXPECT_EQ(story.status.code, 0) << story.out << story.err;
  }

  NamespaceHosts hosts_{folder_, 4, NamespaceHosts::Home::shared};
};

TEST_F(GuideSteps, TheFourteenOfTheHorovodExample) {
  story("horovod");
}

TEST_F(GuideSteps, TheSevenOfTheMindSporeExample) {
  story("mindspore");
}

}  // namespace
}  // namespace assay::e2e
