#!/usr/bin/env python3
"""The steps of the Apulis platform's training guide in a real browser: guide_story.py FACTS horovod|mindspore

Every wait is for an event, with a limit that a busy machine keeps. The stand-ins for the training
programs train until there is a file `enough`, so that nothing has to happen within a certain time."""
import json
import subprocess
import sys
import time
from pathlib import Path

from browser import Browser

FACTS = json.loads(Path(sys.argv[1]).read_text())
FOLDER = Path(FACTS['folder'])
HOME = Path(FACTS['home'])
LIMIT = 240
EIGHT = ','.join(str(device) for device in range(8))


def until(condition, what):
    end = time.monotonic() + LIMIT
    while not (value := condition()):
        assert time.monotonic() < end, f'{what} did not come'
        time.sleep(0.2)
    return value


def assay(*words):
    done = subprocess.run([FACTS['assay'], *words], cwd=FOLDER, capture_output=True, text=True, timeout=LIMIT)
    assert done.returncode == 0, done.stderr + done.stdout
    return done.stdout


def select(browser, element, value):
    """Chooses of a list; `element` is JavaScript."""
    browser.js(f"(s => {{ s.value = '{value}'; s.dispatchEvent(new Event('input', {{bubbles: true}})); s.dispatchEvent(new Event('change', {{bubbles: true}})); }})({element})")


def new_row(browser, field):
    """One more row of a list of the form; JavaScript that finds it."""
    rows = f"[...document.querySelectorAll('.field.wide')].find(f => f.querySelector('.label').textContent === '{field}')"
    browser.js("document.querySelectorAll('details.group').forEach(d => d.open = true)")
    browser.js(f"{rows}.querySelector(':scope > button').click()")
    return f"{rows}.querySelector('.row:last-child')"


def add_variables(browser, pairs):
    for pair in pairs.items():
        row = new_row(browser, 'Environment')
        for cell, text in enumerate(pair):
            browser.js(f"{row}.querySelectorAll('input')[{cell}].id = 'cell'")
            browser.type('#cell', text)
            browser.js("document.querySelector('#cell').removeAttribute('id')")


def fill(browser, name, image, device_type, launch, command, variables):
    """The form's fields: steps 1 to 8 of the first example, 1 to 5 of the second."""
    browser.js("location.hash = '#/submit'")
    browser.wait('h1', 'Submit')
    browser.type('#f-name', name)
    browser.type('#f-nodes', '2')                      # a distributed job
    browser.type('#f-procs', '8')
    assert browser.js(f"[...document.querySelectorAll('#types option')].some(o => o.value === '{device_type}')"), 'the type is not offered'
    browser.type('#f-device_type', device_type)
    assert not browser.js("document.querySelector('#f-preemptible').checked"), 'preemptible without having been asked'
    select(browser, "document.querySelector('#f-launch')", launch)
    browser.type('#f-command', command)
    add_variables(browser, variables)
    browser.type('#f-image', image)
    browser.wait('.plan pre', image)       # what the image would change is seen,
    browser.type('#f-image', ' ')                      # but it cannot be had here
    browser.until(lambda: 'image: ' not in browser.text('.plan pre'), 'a suite without an image')


def submit(browser, name, nodes):
    """The plan is seen before, the running job after."""
    browser.wait('.plan .finding', nodes)
    browser.wait('.plan pre', 'sleep infinity')
    browser.click('#send')
    browser.wait('h1', name)
    browser.wait('.title .chip', 'Running')
    return int(browser.js("location.hash.split('/')[2]"))


def see_console(browser):
    browser.click('.tabs a', 'Console')
    browser.wait('.console .line', 'STEP_END')


def see_metrics(browser):
    browser.click('.tabs a', 'Metrics')
    browser.wait('figure.chart', 'Loss')
    browser.until(lambda: browser.js('''[...document.querySelectorAll('canvas')].some(c => c.width &&
        c.getContext('2d').getImageData(0, 0, c.width, c.height).data.some(v => v))'''), 'a drawn chart')


def see_the_end(browser, job):
    """The training is over, and the job with it, whatever sleeps at the end of its command."""
    browser.js(f"location.hash = '#/jobs/{job}/brief'")
    browser.wait('.title .chip', 'Finished')
    browser.wait('main', "only 'sleep infinity' was left")


def environment(path):
    return dict(line.split('=', 1) for line in path.read_text().splitlines() if '=' in line)


def check_worker(env, index, addresses, job, device_type, npu):
    """Every variable of that platform on one worker: those that it has to have, and no other."""
    expected = {
        'DLWS_JOB_ID': str(job), 'DLWS_USER_NAME': 'root', 'DLWS_ROLE_NAME': 'worker', 'DLWS_ROLE_IDX': str(index), 'DLTS_ROLE_IDX': str(index), 'DLWS_NUM_PS': '1', 'DLWS_NUM_WORKER': '2', 'DLWS_WORKER_NUM': '2',
        'DLWS_NUM_GPU_PER_WORKER': '8', 'DLWS_GPU_TYPE': device_type, 'DLWS_IS_NPU_JOB': 'true' if npu else 'false', 'DLWS_HOST_NETWORK': 'enable', 'VISIBLE_IDS': EIGHT,
    }
    workers = {'SELF': index, 'worker0': 0, 'worker1': 1, 'ps0': 0}
    for name, worker in workers.items():
        expected |= {f'DLWS_SD_{name}_{what}': addresses[worker] for what in ('IP', 'HOST_IP', 'IB_IP')} | {f'DLWS_SD_{name}_SSH_PORT': '22'}
    if npu:
        lists = [','.join(f'{device}:{ip}' for device, ip in enumerate(FACTS['device_ips'][address])) for address in addresses]
        expected |= {'DLWS_SD_worker0_NPU_IP_LIST': lists[0], 'DLWS_SD_worker1_NPU_IP_LIST': lists[1], 'NPU_IPS': lists[index], 'RANK_SIZE': '16', 'DEVICE_NUM': '8', 'RANK_START': str(8 * index), 'SERVER_ID': str(index),
                     'MINDSPORE_HCCL_CONFIG_PATH': env.get('RANK_TABLE_FILE')}
    wrong = {name: (env.get(name), value) for name, value in expected.items() if env.get(name) != value}
    assert not wrong, f'worker {index}, found and expected: {wrong}'
    more = {name for name in env if name.startswith(('DLWS_', 'DLTS_'))} - set(expected)
    assert not more, f'worker {index} has {more}, which this test does not know'


def see_jupyter(browser, job):
    """Step 12: a person clicks, and Jupyter's own page has the checkpoints."""
    platform = browser.session
    known = {t['targetId'] for t in browser.send('Target.getTargets')['targetInfos']}
    browser.wait('tr', 'Jupyter')
    browser.send('Runtime.evaluate', userGesture=True, expression="[...document.querySelectorAll('tr')].find(r => r.textContent.includes('Jupyter')).querySelector('button').click()")
    site = browser.until(lambda: next((t for t in browser.send('Target.getTargets')['targetInfos'] if t['targetId'] not in known and f'job{job}-jupyter.localhost' in t['url']), None),
                         lambda: f"the site of Jupyter, beside {browser.text('table')!r},")
    browser.session = None
    browser.session = browser.send('Target.attachToTarget', targetId=site['targetId'], flatten=True)['sessionId']
    browser.until(lambda: browser.js('document.readyState') == 'complete' and browser.js('Boolean(document.body)'), 'the page of Jupyter')
    browser.wait('#notebook_list', 'checkpoints')
    browser.open(browser.js('location.origin') + '/tree/checkpoints')
    for epoch in (1, 2, 3):
        browser.wait('#notebook_list', f'checkpoint-{epoch}.h5')
    browser.session = platform


def see_event_files(job):
    """Step 13: what a TensorBoard shows, the program's own files and those of the platform."""
    assert list((HOME / f'tensorboard/{job}/logs').glob('events.out.tfevents.*'))
    until(lambda: list(FOLDER.glob(f'tester/jobs/{job}/attempt-1/tensorboard/**/events.out.tfevents.*')), "the platform's event files")


def enter_by_ssh(job):
    """Step 14: a plain client."""
    config = FOLDER / 'ssh_config'
    config.write_text(assay('ssh', '--print-config', str(job)))
    done = subprocess.run(['ssh', '-F', str(config), f'job-{job}', 'echo $DLWS_JOB_ID $DLWS_ROLE_IDX; ls ~/checkpoints'], capture_output=True, text=True, timeout=LIMIT)
    assert done.stdout.splitlines()[:1] == [f'{job} 0'] and 'checkpoint-1.h5' in done.stdout, done


def horovod(browser):
    seen = FOLDER / 'seen'
    seen.mkdir()
    addresses = FACTS['addresses'][:2]
    # The guide's own, to the letter.
    command = ('cd ~ && mkdir -p ~/checkpoints && horovodrun -np 16 -hostfile /home/${DLWS_USER_NAME}/ib_config -p $DLWS_SD_worker0_SSH_PORT --network-interface ib0 '
               'python /examples/tensorflow2_keras_mnist.py ~/checkpoints/ ~/tensorboard/${DLWS_JOB_ID}/logs/ && sleep infinity')
    fill(browser, 'horovod', 'apulistech/horovod:0.19.2-tf2.2.0-torch1.5.0-py3.6.9-gpu', 'Nvidia', 'head', command, {'SEEN': str(seen)})   # 1 to 8
    for kind in ('ssh', 'jupyter', 'tensorboard'):                                                   # 9
        select(browser, new_row(browser, 'Endpoints') + ".querySelector('select')", kind)
    job = submit(browser, 'horovod', 'n1 (8), n2 (8)')                                               # 9, 10
    until(lambda: len(list(seen.glob('env-*'))) == 16, 'sixteen ranks')
    for rank in range(16):
        check_worker(environment(seen / f'env-{rank}'), rank // 8, addresses, job, 'Nvidia', npu=False)
    assert (seen / 'ib_config').read_text().splitlines() == [f'{address} slots=8' for address in addresses]
    see_console(browser)
    see_metrics(browser)
    until(lambda: (HOME / 'checkpoints/checkpoint-3.h5').exists(), 'three checkpoints')
    browser.click('.tabs a', 'Endpoints')                                                            # 11
    browser.wait('td', 'TensorBoard')
    see_jupyter(browser, job)                                                                        # 12
    see_event_files(job)                                                                             # 13
    enter_by_ssh(job)                                                                                # 14
    (seen / 'enough').touch()
    see_the_end(browser, job)


def check_rank_table(path, addresses):
    table = json.loads(path.read_text())
    assert table['status'] == 'completed' and [server['server_id'] for server in table['server_list']] == addresses, table
    devices = [device for server in table['server_list'] for device in server['device']]
    assert [device['rank_id'] for device in devices] == [str(rank) for rank in range(16)], table
    assert [device['device_ip'] for device in devices] == [ip for address in addresses for ip in FACTS['device_ips'][address]], table


def mindspore(browser):
    addresses = FACTS['addresses'][2:]
    for place, folder in FACTS['code'].items():
        seen = FOLDER / f'seen-{place}'
        seen.mkdir()
        command = f"sudo -E bash -c ' cd {folder} && ./run_8p.sh &&sleep infinity'"
        fill(browser, f'mindspore-{place}', 'apulistech/mindspore:0.3.0-withtools', 'huawei_npu_arm64', 'per-node', command, {'SEEN': str(seen)})   # 1 to 5
        job = submit(browser, f'mindspore-{place}', 'n3 (8), n4 (8)')                                # 6
        until(lambda: len(list(seen.glob('rank-*'))) == 16, 'sixteen processes')
        # Each in a folder of its own: by its rank in the shared one, by its device where both nodes have theirs.
        number = {'shared': lambda rank: rank, 'local': lambda rank: rank % 8}[place]
        assert [(seen / f'rank-{rank}').read_text() for rank in range(16)] == [f'{folder}/train_parallel{number(rank)}' for rank in range(16)]
        for index in (0, 1):
            check_worker(environment(seen / f'env-{index}'), index, addresses, job, 'huawei_npu_arm64', npu=True)
            check_rank_table(seen / f'table-{index}', addresses)
        see_console(browser)
        see_metrics(browser)                                                                         # 7
        (seen / 'enough').touch()
        see_the_end(browser, job)


with Browser(limit=LIMIT) as page:
    page.open(FACTS['link'])                                                                         # signs in
    page.wait('dialog h3', 'admin')
    page.type('dialog input[name=password]', 'correct horse battery staple')
    page.click('dialog button', 'Save')
    page.wait('h1', 'Jobs')
    {'horovod': horovod, 'mindspore': mindspore}[sys.argv[2]](page)
    assert not page.errors, page.errors
print('all steps done')
