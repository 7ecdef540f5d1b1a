"""Two replicas behind one address, by the project's own configuration of the proxy: visits stay
where they are, a restart fails no page, and a lost replica's visitors go on at the other one.
"""

import asyncio
import shutil
import sys
import threading
import time
import urllib.error
import urllib.request
from collections import Counter
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from benchmarks.scale.replicas import proxy
from benchmarks.server.visitor import App, Visitor, free_port, running_app
from dpmc_core.experiments.store.store import RunStore
from tests.apart import run_apart
from tests.postgres import installed, postgres
from tests.server.test_failures import LONG, SHORT, going, until
from tests.waiting import until as wait_until

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="needs Linux: signals of processes"),
    pytest.mark.skipif(shutil.which("haproxy") is None, reason="needs haproxy"),
]


def answer(url: str, cookie: str = "") -> tuple[int, str]:
    """Status and the cookie that says which replica answered."""
    request = urllib.request.Request(url, headers={"Cookie": cookie} if cookie else {})
    try:
        with urllib.request.urlopen(request, timeout=30) as response:
            response.read()
            set_ = [one.split(";")[0] for one in response.headers.get_all("Set-Cookie") or ()]
            return response.status, next((one for one in set_ if "REPLICA" in one), "")
    except urllib.error.HTTPError as error:
        return error.code, ""
    except OSError:
        return 0, ""


def wait_until_ready(app: App) -> list[int]:
    seen = []
    while not seen or seen[-1] != 200:
        seen.append(answer(f"{app.url}/ready")[0])
        time.sleep(0.05)
    return seen


def runs_in(store: str) -> int:
    with RunStore(store) as runs:  # a database has a hundred places, and each look takes one
        return runs.count()


def until_both(url: str) -> None:
    """Until the proxy sends visitors to both: it looks twice before it believes."""
    wait_until(lambda: len({answer(f"{url}/ready")[1] for _ in range(4)} - {""}) == 2)


@pytest.mark.nightly
def test_one_address_for_two_replicas(tmp_path: Path) -> None:
    ports = free_port(), free_port()
    folders = [tmp_path / name for name in "ab"]
    for folder in folders:
        folder.mkdir()
    with ExitStack() as stack, proxy(tmp_path, ports) as url:
        store = str(tmp_path / "runs.sqlite")
        if installed():  # as in deploy/compose.yaml
            store = stack.enter_context(postgres())
        settings = {"DPMC_STORE": store, "DPMC_GRACE_SECONDS": "1"}
        entered = [ExitStack() for _ in ports]
        for one in entered:
            stack.enter_context(one)

        def start(k: int) -> App:
            return entered[k].enter_context(running_app(folders[k], port=ports[k], **settings))

        apps = [start(0), start(1)]
        for app in apps:
            assert set(wait_until_ready(app)) <= {0, 200, 503}
        until_both(url)

        # who has no cookie is shared out; who has one stays
        first = Counter(answer(url)[1] for _ in range(8))
        assert first == {"DPMC_REPLICA=a": 4, "DPMC_REPLICA=b": 4}
        for cookie in first:
            assert {answer(url, cookie) for _ in range(4)} == {(200, "")}

        # one replica after the other is started again while pages are asked for all the time
        found: Counter[int] = Counter()
        stop = threading.Event()

        def ask(cookie: str) -> None:
            while not stop.is_set():
                found[answer(f"{url}/mechanisms", cookie)[0]] += 1

        askers = [threading.Thread(target=ask, args=(cookie,)) for cookie in ("", *first)]
        for asker in askers:
            asker.start()
        for k in (0, 1):
            entered[k].close()  # SIGTERM
            apps[k] = start(k)
            wait_until_ready(apps[k])
            until_both(url)
        stop.set()
        for asker in askers:
            asker.join()
        assert set(found) == {200}
        assert found[200] > 100

        async def tell() -> None:
            async with Visitor(url) as visitor:
                await visitor.open("completion", SHORT.format(1))
                await until(lambda: runs_in(store) == 1)
            async with Visitor(url) as visitor:  # its replica is killed in the middle of a run
                await visitor.open("completion", LONG)
                await until(lambda: going(visitor))
                k = "ab".index(visitor._cookie.partition("REPLICA=")[2][0])
                apps[k].process.kill()
                await until(lambda: visitor.lost)
                while True:  # as a browser tries again and again
                    with suppress(OSError, EOFError, asyncio.TimeoutError):
                        await visitor.reconnect()
                        break
                    await asyncio.sleep(0.2)
                assert visitor._cookie.partition("REPLICA=")[2][0] == "ba"[k]
                visitor.texts.clear()
                await until(lambda: going(visitor))  # the address asks for the same run
                assert visitor.errors == []

        run_apart(tell())
        for app in apps:
            assert "Traceback" not in app.log.read_text(errors="replace")
