#include <regex>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "error_of.h"
#include "golden_text.h"
#include "rendezvous/hostfile.h"

namespace assay::rendezvous {
namespace {

using assay::testing::error_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::vector<HostSlots> kTwo{{"node1", 8}, {"node2", 8}};

TEST(Hostfile, HasOneLineAHostInEveryForm) {
  EXPECT_EQ(render_hostfile(kTwo, HostfileForm::openmpi), golden("hostfile.openmpi"));
  EXPECT_EQ(render_hostfile(kTwo, HostfileForm::mpich), golden("hostfile.mpich"));
  EXPECT_EQ(render_hostfile(kTwo, HostfileForm::horovod), golden("hostfile.horovod"));
  EXPECT_EQ(render_hostfile({{"ib-node1", 8}, {"ib-node2", 8}}, HostfileForm::ib),
            golden("ib_config"));
}

// What horovodrun does with a hostfile: the first word, and the text after the last '='; then the
// result must look like host:slots.
TEST(Hostfile, OfHorovodIsReadByHorovodsOwnRule) {
  std::istringstream lines(
      render_hostfile({{"10.1.2.3", 4}, {"a-b_c.d", 16}}, HostfileForm::horovod));
  std::vector<std::string> pairs;
  for (std::string line; std::getline(lines, line);) {
    const std::string host = line.substr(0, line.find(' '));
    const std::string slots = line.substr(line.rfind('=') + 1);
    pairs.push_back(host + ":" + slots);
    EXPECT_TRUE(std::regex_match(pairs.back(), std::regex("^[\\w.-]+:[0-9]+$"))) << line;
  }
  EXPECT_THAT(pairs, ElementsAre("10.1.2.3:4", "a-b_c.d:16"));
}

TEST(Hostfile, ReadsBackWhatItWrote) {
  for (const HostfileForm form :
       {HostfileForm::openmpi, HostfileForm::mpich, HostfileForm::horovod, HostfileForm::ib}) {
    EXPECT_EQ(parse_hostfile(render_hostfile(kTwo, form), "f", form), kTwo);
    EXPECT_EQ(parse_hostfile(render_hostfile(kTwo, form), "f"), kTwo);
  }
}

TEST(Hostfile, ReadsCommentsBlankLinesAndOpenMpisOtherFields) {
  EXPECT_EQ(
      parse_hostfile("# cluster\n\nnode1 slots=8 max_slots=16 # first\r\nnode2:8\nnode3\n", "f"),
      (std::vector<HostSlots>{{"node1", 8}, {"node2", 8}, {"node3", 0}}));
}

TEST(Hostfile, OfHorovodMayNotHaveBlankLinesCommentsOrOtherFields) {
  const auto strict = [](const char* text) {
    return error_of([&] { return parse_hostfile(text, "f", HostfileForm::horovod); });
  };
  EXPECT_THAT(strict("a slots=1\n\nb slots=1\n"), HasSubstr("f:2: a line without a host"));
  EXPECT_THAT(strict("a slots=1 # x\n"), HasSubstr("f:1: a comment"));
  EXPECT_THAT(strict("a slots=1 max_slots=2\n"), HasSubstr("f:1: 'max_slots=2' is not expected"));
  EXPECT_THAT(strict("a slots=1\nb\n"), HasSubstr("f:2: the host has no slots"));
}

TEST(Hostfile, ErrorsNameTheLine) {
  const auto error = [](const char* text) {
    return error_of([&] { return parse_hostfile(text, "hosts"); });
  };
  EXPECT_THAT(error("a slots=8\nb slots=x\n"), HasSubstr("hosts:2: slots must be a whole number"));
  EXPECT_THAT(error("a slots=0\n"), HasSubstr("hosts:1: slots must be"));
  EXPECT_THAT(error("a:8\nb:\n"), HasSubstr("hosts:2: slots must be"));
  EXPECT_THAT(error("a slots=8\nb slots=8\na slots=8\n"),
              HasSubstr("hosts:3: the host 'a' is listed twice, first on line 1"));
  EXPECT_THAT(error("a cores=8\n"), HasSubstr("hosts:1: 'cores=8' is not expected here"));
  EXPECT_THAT(error("-x slots=8\n"), HasSubstr("hosts:1: '-x' cannot be a host"));
  EXPECT_THAT(error("# nothing\n"), HasSubstr("hosts: there is no host in it"));
}

TEST(Hostfile, RefusesWhatAFormCannotHold) {
  for (const HostfileForm form :
       {HostfileForm::openmpi, HostfileForm::mpich, HostfileForm::horovod, HostfileForm::ib})
    EXPECT_THAT(error_of([&] {
                  return render_hostfile({{"fe80::1", 1}}, form);
                }),
                HasSubstr("an IPv6 address does not fit"))
        << to_text(form);
  EXPECT_THAT(error_of([] {
                return render_hostfile({{"a b", 1}}, HostfileForm::openmpi);
              }),
              HasSubstr("'a b' cannot be a host"));
  EXPECT_THAT(error_of([] {
                return render_hostfile({{"a", 0}}, HostfileForm::openmpi);
              }),
              HasSubstr("'a' has 0 slots"));
  EXPECT_THAT(error_of([] {
                return render_hostfile({{"a", 1}, {"a", 1}}, HostfileForm::mpich);
              }),
              HasSubstr("listed twice"));
}

}  // namespace
}  // namespace assay::rendezvous
