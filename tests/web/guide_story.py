#!/usr/bin/env python3
"""The steps of the Apulis platform's training guide in a real browser: guide_story.py FACTS horovod|mindspore"""
import json
import subprocess
import sys
import time
from pathlib import Path

from browser import Browser

FACTS = json.loads(Path(sys.argv[1]).read_text())
FOLDER = Path(FACTS['folder'])
HOME = Path(FACTS['home'])
IMAGE = {'horovod': 'apulistech/horovod:0.19.2-tf2.2.0-torch1.5.0-py3.6.9-gpu', 'mindspore': 'apulistech/mindspore:0.3.0-withtools'}


def until(condition, what, limit=120):
    end = time.monotonic() + limit
    while not (value := condition()):
        assert time.monotonic() < end, f'{what} did not come'
        time.sleep(0.2)
    return value


def assay(*words):
    done = subprocess.run([FACTS['assay'], *words], cwd=FOLDER, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr + done.stdout
    return done.stdout


def select(browser, selector, value):
    browser.js(f"(s => {{ s.value = '{value}'; s.dispatchEvent(new Event('input')); s.dispatchEvent(new Event('change')); }})(document.querySelector('{selector}'))")


def fill(browser, name, device_type, launch, command, keep=''):
    """Steps 1 to 8 of the first example, 1 to 5 of the second: the form's fields."""
    browser.js("location.hash = '#/submit'")
    browser.wait('h1', 'Submit')
    browser.type('#f-name', name)
    browser.type('#f-nodes', '2')                      # a distributed job, of two nodes
    browser.type('#f-procs', '8')
    browser.type('#f-device_type', device_type)
    assert not browser.js("document.querySelector('#f-preemptible').checked"), 'preemptible without having been asked'
    select(browser, '#f-launch', launch)
    browser.type('#f-command', command)
    if keep:
        browser.type('#f-keep', keep)
    browser.type('#f-image', IMAGE[sys.argv[2]])
    browser.wait('.plan pre', 'image: ')               # what the image would change is seen,
    browser.type('#f-image', ' ')                      # but it cannot be had here
    browser.until(lambda: 'image: ' not in browser.text('.plan pre'), 'a suite without an image')
    # The job as it will be run, before it is: on the nodes of that type alone.
    browser.wait('.plan pre', 'nodes: 2')


def variables(browser, pairs):
    browser.js("[...document.querySelectorAll('details.group')].forEach(d => d.open = true)")
    for name, value in pairs.items():
        browser.js("[...document.querySelectorAll('.field.wide')].find(f => f.querySelector('.label').textContent === 'Environment').querySelector(':scope > button').click()")
        browser.js("[...document.querySelectorAll('.field.wide')].find(f => f.querySelector('.label').textContent === 'Environment').querySelector('.row:last-child').querySelectorAll('input').forEach((e, i) => e.id = 'row' + i)")
        browser.type('#row0', name)
        browser.type('#row1', value)
        browser.js("document.querySelectorAll('#row0, #row1').forEach(e => e.removeAttribute('id'))")


def endpoints(browser, kinds):
    for kind in kinds:
        browser.js("[...document.querySelectorAll('.field.wide')].find(f => f.querySelector('.label').textContent === 'Endpoints').querySelector(':scope > button').click()")
        browser.js(f"(s => {{ s.value = '{kind}'; s.dispatchEvent(new Event('input', {{bubbles: true}})); s.dispatchEvent(new Event('change', {{bubbles: true}})); }})([...document.querySelectorAll('.field.wide')].find(f => f.querySelector('.label').textContent === 'Endpoints').querySelector('.row:last-child select'))")


def submit(browser, name):
    browser.wait('.plan .finding')
    browser.click('#send')
    browser.wait('h1', name)
    browser.wait('.chip', 'Running')
    return int(browser.js("location.hash.split('/')[2]"))


def metrics(browser):
    browser.click('.tabs a', 'Metrics')
    browser.wait('figure.chart', 'Loss')
    browser.until(lambda: browser.js('''[...document.querySelectorAll('canvas')].some(c => c.width &&
        c.getContext('2d').getImageData(0, 0, c.width, c.height).data.some(v => v))'''), 'a drawn chart')


def environment(text):
    return dict(line.split('=', 1) for line in text.splitlines() if '=' in line)


def check_worker(env, index, addresses, job, npu):
    """Every variable of that platform, on one worker."""
    expected = {
        'DLWS_JOB_ID': str(job), 'DLWS_USER_NAME': 'root', 'DLWS_ROLE_NAME': 'worker', 'DLWS_ROLE_IDX': str(index), 'DLTS_ROLE_IDX': str(index),
        'DLWS_NUM_PS': '1', 'DLWS_NUM_WORKER': '2', 'DLWS_WORKER_NUM': '2', 'DLWS_NUM_GPU_PER_WORKER': '8', 'DLWS_HOST_NETWORK': 'enable', 'VISIBLE_IDS': '0,1,2,3,4,5,6,7',
        'DLWS_SD_SELF_IP': addresses[index], 'DLWS_SD_SELF_HOST_IP': addresses[index], 'DLWS_SD_SELF_IB_IP': addresses[index], 'DLWS_SD_ps0_IP': addresses[0],
    }
    for i, address in enumerate(addresses):
        expected |= {f'DLWS_SD_worker{i}_IP': address, f'DLWS_SD_worker{i}_HOST_IP': address, f'DLWS_SD_worker{i}_IB_IP': address}
    wrong = {name: (env.get(name), value) for name, value in expected.items() if env.get(name) != value}
    assert not wrong, f'worker {index}: {wrong}'
    for name in ('SELF', 'worker0', 'worker1', 'ps0'):
        assert env[f'DLWS_SD_{name}_SSH_PORT'].isdigit(), name
    if npu:
        assert env['RANK_SIZE'] == '16' and env['DEVICE_NUM'] == '8' and env['RANK_START'] == str(8 * index) and env['SERVER_ID'] == str(index), env
        assert env['RANK_TABLE_FILE'] == env['MINDSPORE_HCCL_CONFIG_PATH']
        assert len(env['NPU_IPS'].split(',')) == 8 and len(env['DLWS_SD_worker1_NPU_IP_LIST'].split(',')) == 8


def horovod(browser):
    own = FOLDER / 'shared'
    own.mkdir()
    # The document's command; its programs lie elsewhere, and it says what it saw.
    command = ('cd ~ && mkdir -p ~/checkpoints && env > $OWN/env-0 && cp /home/${DLWS_USER_NAME}/ib_config $OWN && ssh worker1 env > $OWN/env-1 && '
               'horovodrun -np 16 -hostfile /home/${DLWS_USER_NAME}/ib_config -p $DLWS_SD_worker0_SSH_PORT --network-interface ib0 '
               f'python {FOLDER}/tensorflow2_keras_mnist.py ~/checkpoints/ ~/tensorboard/${{DLWS_JOB_ID}}/logs/ && sleep infinity')
    fill(browser, 'horovod', 'Nvidia', 'head', command, keep='5s')                     # 1 to 8
    variables(browser, {'OWN': str(own)})
    endpoints(browser, ['ssh', 'jupyter', 'tensorboard'])                               # 9
    browser.wait('.plan pre', 'sleep infinity')
    job = submit(browser, 'horovod')                                                     # 9, 10
    until(lambda: (own / 'horovod-15').exists(), 'the last rank')
    # Eight ranks on each worker, by plain ssh.
    assert [(own / f'horovod-{rank}').read_text() for rank in range(16)] == ['0'] * 8 + ['1'] * 8
    hosts = [line.split() for line in (own / 'ib_config').read_text().splitlines()]
    assert hosts == [[FACTS['addresses'][0], 'slots=8'], [FACTS['addresses'][1], 'slots=8']], hosts
    for index in (0, 1):
        check_worker(environment((own / f'env-{index}').read_text()), index, FACTS['addresses'][:2], job, npu=False)
    browser.click('.tabs a', 'Console')
    browser.wait('.console .line', 'STEP_END')
    metrics(browser)
    browser.click('.tabs a', 'Endpoints')                                                # 11
    browser.wait('td', 'Jupyter')
    # 12: its page on an origin of its own, with the checkpoints.
    opened = browser.js(f"(async () => {{ const s = await (await fetch('/api/v1/session')).json(); const r = await fetch('/api/v1/jobs/{job}/endpoints/jupyter/open', {{method: 'POST', headers: {{'X-CSRF-Token': s.csrf}}}}); return await r.json(); }})()")
    assert 'url' in opened, opened
    browser.limit = 120
    browser.open(opened['url'])
    browser.wait('body', 'checkpoints')
    browser.js("location.href = location.origin + '/tree/checkpoints'")
    for epoch in (1, 2, 3):
        browser.wait('body', f'checkpoint-{epoch}.h5')
    browser.limit = 60
    # 13: what a TensorBoard shows: the program's own files, and those of the platform.
    assert list((HOME / f'tensorboard/{job}/logs').glob('events.out.tfevents.*'))
    until(lambda: list(FOLDER.glob(f'tester/jobs/{job}/attempt-1/tensorboard/**/events.out.tfevents.*')), "the platform's event files")
    # 14: a plain ssh.
    config = FOLDER / 'ssh_config'
    config.write_text(assay('ssh', '--print-config', str(job)))
    done = subprocess.run(['ssh', '-F', str(config), f'job-{job}', 'echo $DLWS_JOB_ID $DLWS_ROLE_IDX; ls ~/checkpoints'], capture_output=True, text=True, timeout=60)
    assert done.stdout.splitlines()[0] == f'{job} 0' and 'checkpoint-1.h5' in done.stdout, done
    # The training ends, and the job with it, whatever sleeps at the end of its command.
    (own / 'enough').touch()
    browser.open(FACTS['link'].split('#')[0] + f'#/jobs/{job}/brief')
    browser.limit = 120
    browser.wait('.title .chip', 'Finished')
    browser.wait('main', "only 'sleep infinity' was left")


def mindspore(browser):
    local = FACTS['own']
    addresses = FACTS['addresses'][2:]
    for place, folder in (('shared', '/home/root/code'), ('local', local)):
        own = FOLDER / f'seen-{place}'
        own.mkdir()
        (own / 'mindspore.py').write_text((FOLDER / 'mindspore.py').read_text())
        command = f"sudo -E bash -c 'cd {folder} && ./run_8p.sh && sleep infinity'"
        fill(browser, f'mindspore-{place}', 'huawei_npu_arm64', 'per-node', command)      # 1 to 5
        variables(browser, {'OWN': str(own), 'PLACE': place})
        job = submit(browser, f'mindspore-{place}')                                        # 6
        browser.click('.tabs a', 'Console')
        browser.wait('.console .line', 'STEP_END')
        metrics(browser)                                                                    # 7
        until(lambda: all((own / f'rank-{place}-{rank}').exists() for rank in range(16)), 'sixteen processes')
        folders = {(own / f'rank-{place}-{rank}').read_text() for rank in range(16)}
        assert len(folders) == 16, 'every process has a folder of its own'
        for index in (0, 1):
            check_worker(environment((own / f'env-{index}').read_text()), index, addresses, job, npu=True)
            table = json.loads((own / f'table-{index}').read_text())
            assert table['status'] == 'completed' and table['server_count'] == '2', table
            devices = [device for server in table['server_list'] for device in server['device']]
            assert [device['rank_id'] for device in devices] == [str(rank) for rank in range(16)]
            assert len({device['device_ip'] for device in devices}) == 16
        browser.js(f"location.hash = '#/jobs/{job}/brief'")
        browser.limit = 150
        browser.wait('.title .chip', 'Finished')
        browser.wait('main', "only 'sleep infinity' was left")
        browser.limit = 60


with Browser() as page:
    page.open(FACTS['link'])
    page.wait('dialog h3', 'admin')
    page.type('dialog input[name=password]', 'correct horse battery staple')
    page.click('dialog button', 'Save')
    page.wait('h1', 'Jobs')
    {'horovod': horovod, 'mindspore': mindspore}[sys.argv[2]](page)
    assert not page.errors, page.errors
print('all steps done')
