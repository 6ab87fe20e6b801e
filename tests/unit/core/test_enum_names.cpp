#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/enum_names.h"

namespace assay {
namespace {

enum class Fruit { apple, pear, plum };

constexpr auto enum_names(Fruit) {
  using enum Fruit;
  return std::to_array<EnumName<Fruit>>({{pear, "a pear"}, {apple, "apple"}, {plum, "plum"}});
}

class Basket {
 public:
  enum class Size { small, large };
  friend constexpr auto enum_names(Size) {
    return std::to_array<EnumName<Size>>({{Size::small, "S"}, {Size::large, "L"}});
  }
};

enum class Short { one, two };
constexpr auto enum_names(Short) {
  return std::to_array<EnumName<Short>>({{Short::one, "one"}});
}

enum class Twice { one, two };
constexpr auto enum_names(Twice) {
  return std::to_array<EnumName<Twice>>({{Twice::one, "same"}, {Twice::two, "same"}});
}

TEST(EnumNames, GiveEveryValueItsText) {
  static_assert(to_text(Fruit::apple) == "apple");
  EXPECT_EQ(to_text(Fruit::pear), "a pear");
}

TEST(EnumNames, AreReadBack) {
  static_assert(parse_enum<Fruit>("a pear") == Fruit::pear);
  for (const Fruit fruit : enum_values<Fruit>())
    EXPECT_EQ(parse_enum<Fruit>(to_text(fruit)), fruit);
}

TEST(EnumNames, OtherTextHasNoValue) {
  for (const char* text : {"", "Apple", "apple ", "apples"})
    EXPECT_EQ(parse_enum<Fruit>(text), std::nullopt) << text;
}

TEST(EnumNames, AValueThatIsNoEnumeratorHasNoText) {
  EXPECT_EQ(to_text(static_cast<Fruit>(17)), "");
}

TEST(EnumNames, AreListedForMessagesInTheOrderOfTheTable) {
  EXPECT_THAT(enum_texts<Fruit>(), ::testing::ElementsAre("a pear", "apple", "plum"));
  EXPECT_EQ(enum_choices<Fruit>(), "a pear, apple or plum");
  EXPECT_EQ(enum_choices<Basket::Size>(), "S or L");
}

TEST(EnumNames, WorkForAnEnumInAClass) {
  EXPECT_EQ(to_text(Basket::Size::large), "L");
  EXPECT_EQ(parse_enum<Basket::Size>("S"), Basket::Size::small);
}

TEST(EnumNames, ATableThatLacksANameOrRepeatsOneDoesNotCompile) {
  EXPECT_TRUE(enum_names_detail::is_sound<Fruit>());
  EXPECT_FALSE(enum_names_detail::is_sound<Short>());
  EXPECT_FALSE(enum_names_detail::is_sound<Twice>());
}

}  // namespace
}  // namespace assay
