// The steps of the Apulis platform's training guide (docs/coming-from/apulis.md), each done in a
// browser: two hosts with GPUs and two with NPUs, as far as the platform knows, with one home. The
// frameworks and their images are stand-ins; ssh, mpirun's way of starting ranks, Jupyter and the
// browser are real.

#include <fstream>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "core/json_access.h"
#include "core/process.h"
#include "core/text.h"
#include "e2e/door/door_test.h"
#include "e2e/net_namespaces.h"
#include "needs.h"

namespace assay::e2e {
namespace {

using namespace std::chrono_literals;

// Starts a process for every slot of a hostfile over ssh, as horovodrun does it.
constexpr const char* kHorovodrun = R"(#!/usr/bin/env python3
import os, shutil, subprocess, sys
words, taken = sys.argv[1:], {}
while words and words[0].startswith('-'):
    taken[words[0]] = words[1]
    words = words[2:]
shutil.copy(taken['-hostfile'], os.environ['SEEN'] + '/ib_config')
hosts = [line.split() for line in open(taken['-hostfile'])]
ssh = ['ssh', '-o', 'StrictHostKeyChecking=no', '-p', taken['-p']]
for host, _ in hosts:
    subprocess.run([*ssh, host, 'date'], check=True, stdout=subprocess.DEVNULL)
running, size = [], int(taken['-np'])
for host, slots in hosts:
    for local in range(int(slots.split('=')[1])):
        place = f'HOROVOD_RANK={len(running)} HOROVOD_SIZE={size} HOROVOD_LOCAL_RANK={local}'
        running.append(subprocess.Popen([*ssh, host, f'cd {os.getcwd()} && env {place} ' + ' '.join(words)]))
assert len(running) == size, (len(running), size)
sys.exit(max(one.wait() for one in running))
)";

// What a rank finds, written at once.
constexpr const char* kSeen = R"(
import os
def write_seen(name, text):
    path = os.environ['SEEN'] + '/' + name
    with open(path.replace(name, 'new-' + name), 'w') as file:
        file.write(text)
    os.rename(path.replace(name, 'new-' + name), path)
def variables():
    return ''.join(f'{name}={value}\n' for name, value in os.environ.items() if '\n' not in value)
)";

// Trains until there is a file `enough`: checkpoints, event files and PerfLog as an example has
// them.
constexpr const char* kMnist = R"(
import json, os, sys, time
from seen import variables, write_seen
checkpoints, logs = sys.argv[1:3]
rank = int(os.environ['HOROVOD_RANK'])
write_seen(f'env-{rank}', variables())
step = 0
while rank == 0 and not os.path.exists(os.environ['SEEN'] + '/enough'):
    step += 1
    print('[PerfLog] ' + json.dumps({'event': 'STEP_END', 'value': {'loss': 2 / step, 'samples': 64}, 'step': step, 'metadata': {'time_ms': int(time.time() * 1000)}}), flush=True)
    if step % 10 == 1 and step < 40:
        open(f'{checkpoints}/checkpoint-{step // 10 + 1}.h5', 'w').write('weights')
    if step == 1:
        open(f'{logs}/events.out.tfevents.1', 'wb').write(b'\0' * 16)
    time.sleep(0.1)
)";

// Eight processes on each node, each in a folder of its own, {0} of which says whose it is, and
// nobody left when it is ended.
constexpr const char* kRun8p = R"(#!/bin/bash
python3 -c 'import sys, os; sys.path.append("'$PWD'"); import seen; seen.write_seen("env-" + os.environ["DLWS_ROLE_IDX"], seen.variables()); seen.write_seen("table-" + os.environ["DLWS_ROLE_IDX"], open(os.environ["RANK_TABLE_FILE"]).read())' || exit 1
export DEVICE_NUM=8
for ((i = 0; i < DEVICE_NUM; i++)); do
  export DEVICE_ID=$i RANK_ID=$((RANK_START + i))
  rm -rf ./train_parallel{0}
  mkdir ./train_parallel{0}
  cp *.py *.sh ./train_parallel{0}
  cd ./train_parallel{0} || exit
  echo "rank $RANK_ID begins on device $DEVICE_ID"
  python3 train.py &
  cd ..
done
trap "trap - SIGTERM && kill -- -$$" SIGINT SIGTERM EXIT
wait
)";
constexpr const char* kMindspore = R"(
import json, os, time
from seen import write_seen
rank, step = int(os.environ['RANK_ID']), 0
write_seen(f'rank-{rank}', os.getcwd())
while not os.path.exists(os.environ['SEEN'] + '/enough'):
    step += 1
    print('[PerfLog] ' + json.dumps({'event': 'STEP_END', 'value': {'loss': 1 / step, 'samples': 32}, 'step': step, 'metadata': {'time_ms': int(time.time() * 1000), 'rank': rank}}), flush=True)
    time.sleep(0.5)
)";

class GuideSteps : public DoorTest {
 protected:
  void SetUp() override {
    DoorTest::SetUp();
    if (!hosts_.missing().empty()) GTEST_SKIP() << hosts_.missing();
    if (!find_program("chromium")) GTEST_SKIP() << needs::package("chromium");
    if (!find_program("jupyter-notebook")) GTEST_SKIP() << needs::package("jupyter-notebook");
    // The image's programs, and its /examples.
    write_program("horovodrun", kHorovodrun);
    write_program("sudo", "#!/bin/sh\nshift\nexec \"$@\"\n");  // of `sudo -E …`
    write_program("python", fmt::format("#!/bin/sh\nprogram=$1\nshift\nexec python3 "
                                        "{}/\"$program\" \"$@\"\n",
                                        folder_.string()));
    fs::create_directories(folder_ / "examples");
    write("examples/tensorflow2_keras_mnist.py", kMnist);
    write("examples/seen.py", kSeen);
    // The user's code: on the disk that all nodes share, and on the disk of each.
    write_code(hosts_.home() / "root/code", "$RANK_ID");
    for (const int node : {3, 4}) write_code(hosts_.own_of(node) / "code", "$i");
    write_nodes();
  }

  static void write_code(const fs::path& code, const std::string& number) {
    fs::create_directories(code);
    std::ofstream(code / "train.py") << kMindspore;
    std::ofstream(code / "seen.py") << kSeen;
    std::string script = kRun8p;
    for (auto at = script.find("{0}"); at != std::string::npos; at = script.find("{0}"))
      script.replace(at, 3, number);
    std::ofstream(code / "run_8p.sh") << script;
    fs::permissions(code / "run_8p.sh", fs::perms::owner_all);
  }

  /// Two hosts with GPUs, two with NPUs.
  void write_nodes() {
    std::string nodes = "nodes:\n";
    for (int host = 1; host <= 4; ++host) {
      const std::string address = hosts_.net().address(host);
      nodes += fmt::format("  - {{name: n{}, address: {}, server_id: {}, devices: 8, {}", host,
                           address, address,
                           host <= 2 ? "vendor: nvidia, device_type: Nvidia"
                                     : "vendor: ascend, device_type: huawei_npu_arm64");
      if (host > 2) {
        for (int device = 0; device < 8; ++device)
          device_ips_[address].push_back(
              fmt::format("192.168.{}.{}", 10 + device % 4 * 10, host * 2 + device / 4));
        nodes += fmt::format(", device_ips: [{}]", fmt::join(device_ips_[address], ", "));
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
    Json addresses = Json::array();
    for (int host = 1; host <= 4; ++host) addresses.push_back(hosts_.net().address(host));
    const Json facts{{"link", std::string(trim(link.out))},
                     {"assay", ASSAY_BIN_DIR "/assay"},
                     {"folder", folder_.string()},
                     {"home", (hosts_.home() / "root").string()},
                     {"code", {{"shared", "/home/root/code"}, {"local", hosts_.own() / "code"}}},
                     {"addresses", addresses},
                     {"device_ips", device_ips_}};
    write("facts.json", dump_line(facts));
    const CommandResult story =
        run_command({"python3", (fs::path(ASSAY_SOURCE_DIR) / "tests/web/guide_story.py").string(),
                     (folder_ / "facts.json").string(), part},
                    {.timeout = 900s, .env = {}});
    EXPECT_EQ(story.status.code, 0)
        << story.out << story.err << assay({"job", "1", "--logs"}).out << assay({"job", "1"}).out;
  }

  NamespaceHosts hosts_{folder_, 4, NamespaceHosts::Home::shared};
  std::map<std::string, std::vector<std::string>> device_ips_;
};

TEST_F(GuideSteps, TheFourteenOfTheHorovodExample) {
  story("horovod");
}

TEST_F(GuideSteps, TheSevenOfTheMindSporeExample) {
  story("mindspore");
}

}  // namespace
}  // namespace assay::e2e
