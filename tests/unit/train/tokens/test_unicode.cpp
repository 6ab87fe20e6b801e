// The classes of code points against those of RE2.
#include <gtest/gtest.h>
#include <re2/re2.h>

#include "core/utf8.h"
#include "train/tokens/split.h"

namespace assay::train::tokens {
namespace {

TEST(UnicodeTest, LettersAndNumbersAreThoseOfRe2) {
  const RE2 letter(R"(\p{L})");
  const RE2 number(R"(\p{N})");
  int letters = 0;
  int numbers = 0;
  int differences = 0;
  for (char32_t code = 0; code <= 0x10FFFF; ++code) {
    if (code >= 0xD800 && code <= 0xDFFF) continue;
    char bytes[4];
    const re2::StringPiece text(bytes, put_utf8(bytes, code));
    const Glyph glyph = glyph_of(code);
    letters += glyph == Glyph::letter ? 1 : 0;
    numbers += glyph == Glyph::number ? 1 : 0;
    if (RE2::FullMatch(text, letter) != (glyph == Glyph::letter) ||
        RE2::FullMatch(text, number) != (glyph == Glyph::number))
      ++differences;
  }
  EXPECT_GT(letters, 130'000);
  EXPECT_GT(numbers, 1'700);
  // RE2's Unicode may be one release older or newer.
  EXPECT_LT(differences, 6'000);
  for (const char32_t code : {U'a', U'Z', U'é', U'ß', U'я', U'漢', U'한', U'\u01C5', U'\U00020000'})
    EXPECT_EQ(glyph_of(code), Glyph::letter) << static_cast<unsigned>(code);
  for (const char32_t code : {U'0', U'²', U'½', U'Ⅷ', U'٣', U'\U0001D7CE'})
    EXPECT_EQ(glyph_of(code), Glyph::number) << static_cast<unsigned>(code);
  for (const char32_t code : {U' ', U'\t', U'\v', U'\u0085', U'\u00A0', U'\u2003', U'\u3000'})
    EXPECT_EQ(glyph_of(code), Glyph::space) << static_cast<unsigned>(code);
  for (const char32_t code : {U'!', U'_', U'€', U'\u0301', U'\u200B', U'😀'})
    EXPECT_EQ(glyph_of(code), Glyph::mark) << static_cast<unsigned>(code);
}

}  // namespace
}  // namespace assay::train::tokens
