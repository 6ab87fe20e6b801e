#!/usr/bin/env python3
"""Two administrators who change the same queue: the second is told, and overwrites nothing:
   two_people_story.py ANNS-LINK BOBS-LINK"""
import sys

from browser import Browser


def to_admin(browser, link):
    browser.open(link)
    browser.click('dialog button', 'Cancel')  # the first time, a password can be chosen
    browser.wait('h1', 'Jobs')
    look(browser)


def look(browser):
    """The page of administration, as it is now."""
    browser.js("location.hash = '/jobs'")
    browser.wait('h1', 'Jobs')
    browser.js("location.hash = '/admin'")
    browser.wait('h1', 'Admin')
    browser.wait('section td', 'default')


def row(name):
    return f"[...document.querySelectorAll('section tr')].find(r => r.cells[0].textContent === {name!r})"


def answer(browser, **fields):
    browser.wait('dialog h3', 'Queue')
    for name, value in fields.items():
        browser.js(f"document.querySelector('dialog [name={name}]').value = {value!r}")
    browser.click('dialog button', 'Save')


def edit(browser, **fields):
    browser.js(f"{row('night')}.querySelector('button').click()")
    answer(browser, **fields)


def add(browser, **fields):
    browser.js("[...document.querySelectorAll('section')].find(s => s.querySelector('h2').textContent === 'Queues').querySelector('.toolbar button').click()")
    answer(browser, **fields)


def queue(browser):
    return browser.js("fetch('/api/v1/queues').then(r => r.json()).then(a => JSON.stringify(a.queues.find(q => q.name === 'night')))")


def main(anns_link, bobs_link):
    with Browser() as ann, Browser() as bob:
        to_admin(ann, anns_link)
        add(ann, name='night', priority='1')
        ann.wait('section td', 'night')
        to_admin(bob, bobs_link)
        bob.wait('section td', 'night')
        edit(ann, priority='5')
        ann.until(lambda: ann.js(f"{row('night')}.cells[1].textContent === '5'"), 'the new priority')
        # Bob still sees 1, and is told instead of setting it back.
        edit(bob, closed='yes')
        bob.wait('.toasts', 'this was changed meanwhile: priority')
        bob.until(lambda: bob.js(f"{row('night')}.cells[1].textContent === '5'"), 'what there is now')
        assert '"closed":false' in queue(bob), queue(bob)
        # He has seen it now.
        edit(bob, closed='yes')
        bob.until(lambda: '"closed":true' in queue(bob), 'the closed queue')
        assert '"priority":5' in queue(bob), queue(bob)
        # One that is there is not made again, from nothing.
        add(bob, name='night', priority='9')
        bob.wait('.toasts', 'this is there already')
        assert '"priority":5' in queue(bob), queue(bob)
        # Nor is it deleted by who has seen another one.
        ann.js(f"[...{row('night')}.querySelectorAll('button')].at(-1).click()")
        ann.click('dialog button.danger')
        ann.wait('.toasts', 'this was changed meanwhile: closed')
        assert '"priority":5' in queue(ann), queue(ann)
        assert not ann.errors and not bob.errors, (ann.errors, bob.errors)


if __name__ == '__main__':
    main(*sys.argv[1:3])
    print('all seen')
