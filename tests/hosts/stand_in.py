"""Called like ssh, it plays the host too: it speaks the agent's real protocol, and makes its measurements up.

    stand_in.py [lie JOB FIELD TOKEN] [OPTIONS] -- HOST COMMAND

The name of a host says how it behaves: `garbage...`, `flood...`, `escape...`, `huge...`, `hang...`, `dies...`,
`other...` (it says it is host `a`), `texts...` (text in the place of numbers), `negative...`, `instant...`; any other
is honest, and as fast as the number at its end says. A host `liar...` puts a token, as it stands, in the place of a
field (`machine.cores`; empty: all) of its answer to a job (`describe`, `start`, `sample`); `DEEP` is 200,000 brackets.
A host `cores...` has as many cores as its number says, `twice...` answers all of its workers' questions twice, and
`mute...` no sample, of which its agent says that the worker does not compute.
"""

import json
import os
import re
import sys
import threading
import time

HOST = sys.argv[sys.argv.index("--") + 1] if "--" in sys.argv else "n1"
KIND = (re.match(r"[a-z]+", HOST) or [""])[0]
NUMBER = int((re.search(r"\d+$", HOST) or ["1"])[0])
SPEED = 1e9 * (1 + NUMBER % 5)
CORES = [{"cpu": cpu, "siblings": [], "kind": ""} for cpu in range(NUMBER if KIND == "cores" else 1)]
LIE = sys.argv[2:5] if KIND == "liar" else ["", "", ""]
LIES, DEEP = "field of a lie", "[" * 200_000
MACHINE = {
    "host": "a" if KIND == "other" else HOST,
    "system": "Linux 6",
    "cpu_model": f"Stand-in {NUMBER % 5}",
    "cores": CORES,
    "quota_cores": None,
    "caches": [{"level": 1, "kind": "data", "size_bytes": 32768, "shared_by": 1}],
    "memory_bytes": 2**33,
    "memory_available_bytes": 2**32,
    "load_average": [0.0, 0.0, 0.0],
    "governor": None,
    "swap_bytes": 0,
    "memory_limit_bytes": None,
}
TOPOLOGY = {
    "source": "this machine",
    "host": MACHINE["host"],
    "cpu_model": MACHINE["cpu_model"],
    "cores": CORES,
    "caches": [],
    "packages": [[0]],
    "numa": [],
    "memory_bytes": 2**33,
}
ABOUT = {"protocol": 1, "machine": MACHINE, "topology": TOPOLOGY, "python": "3.11.9", "numpy": "2.0", "numba": ""}
ABOUT |= {"boot": f"boot of {MACHINE['host']}", "addresses": ["192.0.2.1"]}
FLOOD_BYTES = 10 * 2**30


def say(answer: object) -> None:
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


def lied(do: str, answer: dict[str, object]) -> str:
    """An answer as a line, with a lie in it where one is to be."""
    job, field, token = LIE
    token = {"DEEP": DEEP}.get(token, token)
    if do != job:
        return json.dumps(answer)
    if not field:
        return token
    answer = json.loads(json.dumps(answer))
    part, (*path, last) = answer, field.split(".")
    for name in path:
        part = part[name]  # type: ignore[assignment]
    part[last] = LIES
    return json.dumps(answer).replace(json.dumps(LIES), token)


def used(seconds: float) -> dict[str, object]:
    if KIND == "texts":
        return {"cpu_s": "rm -rf /", "wall_s": [], "voluntary_switches": None}
    if KIND == "negative":
        seconds = -seconds
    if KIND == "instant":
        return {"cpu_s": seconds, "wall_s": 0.0, "voluntary_switches": 0, "involuntary_switches": 0}
    return {"cpu_s": seconds, "wall_s": seconds, "voluntary_switches": 0, "involuntary_switches": 0}


class Play:
    """What is prepared, and what time it is."""

    def __init__(self) -> None:
        self.n, self.port, self.asked = 64, 4711, 0

    def worker(self, told: dict[str, object]) -> dict[str, object] | None:
        """What a worker answers."""
        do = told["do"]
        if do == "prepare":
            self.n = int(str(told["n"]))
            return {}
        if do == "sample" and "size_bytes" in told:
            each = 2 * (1e-5 + float(str(told["size_bytes"])) / (1e9 * (1 + NUMBER % 3)))
            return {"wall_s": used(float(str(told["rounds"])) * each)["wall_s"]}
        if do == "sample":
            return used(float(str(told["inner"])) * (1e-6 + 2.0 * self.n * 1e6 / SPEED))
        if do == "allocate":
            return {"granted": True}
        if do in {"stop", "runs"}:
            each = 1e-6 + 2.0 * self.n * 1e6 / SPEED
            runs = max(1, round(0.25 / each))
            return {"runs": runs} if do == "runs" else used(runs * each)
        return {}

    def agent(self, told: dict[str, object]) -> dict[str, object] | None:
        """What the agent answers."""
        return {
            "describe": ABOUT,
            "clock": {"clock_s": time.perf_counter()},
            "start": {"pid": 1},
            "listen": {"port": self.port},
            "accept": {"number": 7},
            "connect": {"number": 8, "address": "192.0.2.1"},
            "pair": {"numbers": [9, 10]},
        }.get(str(told["do"]))


def misbehave() -> None:
    """What a hostile or broken host does once it was asked what it is."""
    if KIND == "garbage":
        sys.stdout.write("<html>504</html>\n" * 10_000)
    elif KIND == "flood":
        block = b"x" * 2**20
        for _ in range(FLOOD_BYTES // len(block)):
            os.write(1, block)
    elif KIND == "huge":
        for number in range(10**6):
            say({"id": -number, "filler": "y" * 10_000})
    elif KIND == "escape":
        say({"fault": "\x1b[2J\x1b]0;owned\x07 all your base \u202e"})
    elif KIND == "hang":
        time.sleep(600)
    elif KIND == "dies":
        sys.exit(3)
    sys.stdout.flush()


HANGING: dict[str, float] = {}


def beat() -> None:
    while True:
        time.sleep(2.0)
        say({"at_work": HANGING})


def main() -> None:
    threading.Thread(target=beat, daemon=True).start()
    head = json.loads(sys.stdin.buffer.readline())
    sys.stdin.buffer.read(head["bytes"])
    play = Play()
    for line in sys.stdin.buffer:
        told = json.loads(line)
        if told["do"] == "describe":
            misbehave()
        if told["do"] == "tell":
            asked = json.loads(told["line"])
            answer = play.worker(asked)
            if KIND == "mute" and asked["do"] == "sample":
                HANGING[str(told["worker"])] = 0.5
            elif answer is not None:
                for _ in range(1 + (KIND == "twice")):
                    say({"worker": told["worker"], "line": lied(asked["do"], answer)})
            continue
        if told["do"] == "close":
            say({"worker": told["worker"], "ended": 0, "said": ""})
        answer = play.agent(told)
        if answer is not None and "id" in told:
            sys.stdout.write(lied(told["do"], {"id": told["id"], **answer}) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
