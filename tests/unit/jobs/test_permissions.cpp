#include <fstream>

#include <gtest/gtest.h>

#include "jobs/permissions.h"

namespace assay::jobs {
namespace {

TEST(Permissions, EveryRoleDeedAndOwnerIsAsDocumented) {
  std::vector<std::string> table;
  std::string head = "| deed |";
  std::string rule = "|---|";
  for (const Role role : enum_values<Role>())
    for (const Whose whose : enum_values<Whose>()) {
      head += " " + std::string(to_text(role)) + ", " + std::string(to_text(whose)) + " |";
      rule += "---|";
    }
  table.insert(table.end(), {head, rule});
  for (const Deed deed : enum_values<Deed>()) {
    std::string line = "| " + std::string(to_text(deed)) + " |";
    for (const Role role : enum_values<Role>())
      for (const Whose whose : enum_values<Whose>())
        line += may(role, deed, whose) ? " yes |" : " – |";
    table.push_back(line);
  }
  std::ifstream file(ASSAY_SOURCE_DIR "/docs/dev/jobs.md");
  std::vector<std::string> documented;
  for (std::string line; std::getline(file, line);) {
    if (documented.empty() && !line.starts_with("| deed |")) continue;
    if (line.empty()) break;
    documented.push_back(line);
  }
  std::string text;
  for (const std::string& line : table) text += line + "\n";
  EXPECT_EQ(documented, table) << "the table of docs/dev/jobs.md should be\n" << text;
}

TEST(Permissions, AHigherRoleMayDoWhatALowerOneMay) {
  for (const Deed deed : enum_values<Deed>())
    for (const Whose whose : enum_values<Whose>()) {
      EXPECT_LE(may(Role::viewer, deed, whose), may(Role::member, deed, whose)) << to_text(deed);
      EXPECT_LE(may(Role::member, deed, whose), may(Role::admin, deed, whose)) << to_text(deed);
    }
}

TEST(Permissions, WhoMayDoItWithOthersMayDoItWithTheirOwn) {
  for (const Deed deed : enum_values<Deed>())
    for (const Role role : enum_values<Role>()) {
      EXPECT_LE(may(role, deed, Whose::foreign), may(role, deed, Whose::team)) << to_text(deed);
      EXPECT_LE(may(role, deed, Whose::team), may(role, deed, Whose::own)) << to_text(deed);
    }
}

TEST(Permissions, NobodyEntersAnothersJobOrMakesAnothersToken) {
  for (const Role role : enum_values<Role>())
    for (const Whose whose : {Whose::team, Whose::foreign}) {
      EXPECT_FALSE(may(role, Deed::enter_job, whose));
      EXPECT_FALSE(may(role, Deed::make_token, whose));
    }
}

TEST(Permissions, WhatIsNotInTheTableIsRefused) {
  EXPECT_FALSE(may(Role::admin, static_cast<Deed>(1000), Whose::own));
}

}  // namespace
}  // namespace assay::jobs
