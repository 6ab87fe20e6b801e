#!/usr/bin/env python3
"""The button that changes the language of a report, a comparison and a history, clicked in a real browser:
   language_story.py PAGE..."""
import re
import sys
from pathlib import Path

from browser import Browser

# What a page shows to read: neither code nor what a machine says of itself.
SHOWN = '''(() => {
  const page = document.body.cloneNode(true);
  for (const left_out of page.querySelectorAll("code, pre, script, style, svg, section.evidence, button.language")) left_out.remove();
  return [...page.querySelectorAll("*"), page].flatMap(e => [...e.childNodes]).filter(n => n.nodeType === 3).map(n => n.data.trim()).filter(t => t).join("\\n");
})()'''
PROSE = re.compile(r'\b[A-Za-z]?[a-z]{2,} [a-z]{2,}\b')


def main(pages):
    with Browser() as browser:
        for page in pages:
            browser.open(Path(page).resolve().as_uri())
            browser.js('localStorage.removeItem("assay-language")')
            browser.open(Path(page).resolve().as_uri())
            browser.wait('button.language', '中文')
            english = browser.js(SHOWN)
            assert PROSE.search(english), english
            assert browser.js('document.documentElement.lang') == 'en'

            browser.click('button.language')
            browser.wait('button.language', 'English')
            chinese = browser.js(SHOWN)
            assert browser.js('document.documentElement.lang') == 'zh-CN'
            assert re.search('[\u4e00-\u9fff]', chinese), chinese
            left = sorted(set(PROSE.findall(chinese)))
            assert not left, f'{page} still says {left}'
            left = browser.js('[...document.querySelectorAll("h2, section:not(.evidence) th")].map(e => e.textContent.trim()).filter(t => /^[A-Z][a-z]+$/.test(t) && t !== "Assay" && t !== "Rank")')
            assert not left, f'{page} still has the headings {left}'

            # It is remembered, and leads back to what was there. The browser may take a moment to store it.
            def is_remembered():
                browser.open(Path(page).resolve().as_uri())
                return browser.text('button.language') == 'English'
            browser.until(is_remembered, 'the language that was chosen')
            assert browser.js(SHOWN) == chinese
            browser.click('button.language')
            browser.wait('button.language', '中文')
            assert browser.js(SHOWN) == english
        assert not browser.errors, browser.errors

    # Whoever reads Chinese need not look for the button.
    with Browser() as browser:
        browser.send('Emulation.setUserAgentOverride', userAgent=browser.js('navigator.userAgent'), acceptLanguage='zh-CN')
        browser.open(Path(pages[0]).resolve().as_uri())
        browser.wait('button.language', 'English')
        assert not browser.errors, browser.errors


if __name__ == '__main__':
    main(sys.argv[1:])
