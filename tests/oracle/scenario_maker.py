# SPDX-License-Identifier: Apache-2.0
"""Random scenarios, valid by construction: their traces must not depend on chance on the JDK
either. A scenario is a list of steps, and a step a list of lines that belong together.

What is left out, and why:
  - A task with a future is never discarded: the JDK's future would wait for ever, ours is
    cancelled. So pools that discard get no such tasks, nor those whose callers run tasks once
    they are shut down.
  - discard_oldest on a sync queue: the JDK overflows its stack.
  - interrupt_self where the caller may run tasks: it would interrupt the reference's driver. Nor
    may the caller be given a gate to wait at: there are fewer of those than threads then, and
    nothing changes the number of threads.
  - invoke_any where it depends on the speed of the first task whether the second is sent, and
    batches of which some are refused: those before may or may not have started by then.
  - Room for several putters at once: which of them is the first is chance.
  - A thread or task that is due about when a command ends: whatever has a time is either followed
    by a sleep well beyond it, or far away.
"""

import random

FAR = 60000  # milliseconds: later than the end of any scenario
DISCARDING = {"discard", "discard_oldest"}
SCHEDULED_OPTIONS = "remove_on_cancel", "delayed_after_shutdown", "periodic_after_shutdown"


def scenario(seed):
    """The steps of the scenario of this seed; the same for ever."""
    chance = random.Random(seed)
    maker = chance.choices([Pool, TimedPool, Scheduled, BlockedScheduled, Queue, FutureTask],
                           [8, 2, 4, 3, 5, 3])[0]
    return maker(chance).steps()


def lines(steps):
    return [line for step in steps for line in step]


class Maker:
    """Makes steps by drawing from the weighted methods that choices() gives."""

    length = (8, 18)

    def __init__(self, chance):
        self.chance = chance
        self.tasks = []    # all names used
        self.futures = []  # those of tasks with a future
        self.gates = []    # those that may wait to be released

    def steps(self):
        made = list(self.begin())
        for _ in range(self.chance.randint(*self.length)):
            choices = self.choices()
            made.append(self.chance.choices(list(choices), list(choices.values()))[0]())
        return made + list(self.end())

    def begin(self):
        return []

    def end(self):
        return []

    def pick(self, *of):
        return self.chance.choice(of)

    def new_name(self):
        """Mostly in the order of the alphabet, which a priority queue does not keep."""
        number = len(self.tasks)
        name = "ZAYBXCWDVEUFTGSHRIQJPKOLNM"[number % 26] + ("" if number < 26 else str(number // 26))
        self.tasks.append(name)
        return name

    def known(self, names):
        """One of the names; now and then one that nobody has."""
        return self.chance.choice(names) if names and self.chance.random() < 0.95 else "nobody"

    def task(self, *kinds):
        name, kind = self.new_name(), self.pick(*kinds)
        if kind in ("gate", "stubborn"):
            self.gates.append(name)
        return name, kind

    def release(self):
        if not self.gates:
            return ["release nobody"]
        name = self.gates.pop(self.chance.randrange(len(self.gates)))
        return [f"release {name}"]

    def look_at_future(self):
        return [f"{self.pick('get', 'get', 'is_done', 'is_cancelled')} {self.known(self.futures)}"]

    def cancel(self):
        return [f"cancel {self.known(self.futures)}{self.pick('', ' interrupt')}"]

    def get_blocking(self):
        return [f"get_blocking {self.known(self.futures)}"]


class Pool(Maker):
    """A pool whose threads stay, or leave at once."""

    def begin(self):
        self.queue = self.pick("array:1", "array:2", "array:3:fair", "linked:1", "linked:2", "linked",
                               "linked", "sync", "sync:fair", "priority")
        # The policies that this scenario may use; see above for why not all of them together.
        self.policies = self.pick(["abort", "record"], ["abort", "record", "caller_runs"],
                                  ["abort", "discard", "discard_oldest"])
        if self.queue.startswith("sync"):
            self.policies = [p for p in self.policies if p != "discard_oldest"]
        self.is_shut_down = False
        core = self.chance.randint(0, 3)
        self.maximum = max(1, core + self.chance.randint(0, 2))
        self.keep_alive = self.pick(0, FAR)
        options = [f"core={core}", f"max={self.maximum}", f"keep_alive={self.keep_alive}",
                   f"queue={self.queue}", f"policy={self.pick(*self.policies)}"]
        if self.keep_alive and self.chance.random() < 0.15:
            options.append("core_timeout=true")
        if self.chance.random() < 0.3:
            options.append("hooks=true")
        if "caller_runs" not in self.policies and self.chance.random() < 0.15:
            options.append(f"factory=fail_after:{self.chance.randint(0, 3)}")
        yield ["pool " + " ".join(options)]

    def kinds(self):
        at_once = ["quick"] * 3 + ["throw", "throw", "sleep:150"]
        held = ["gate"] * 5 + ["stubborn"]
        if "caller_runs" not in self.policies:
            return at_once + held + ["interrupt_self"]
        return at_once + held if len(self.gates) < self.maximum else at_once

    def futures_are_kept(self):
        return not DISCARDING & set(self.policies) and not (
            self.is_shut_down and "caller_runs" in self.policies)

    def choices(self):
        choices = {self.execute: 8, self.release: 6, self.prestart: 1, self.look_at_queue: 2,
                   self.remove: 1, self.set_policy: 1, self.end_it: 1}
        if "caller_runs" not in self.policies:
            choices[self.resize] = 3
        if self.futures_are_kept():
            choices |= {self.submit: 6, self.cancel: 3, self.look_at_future: 3, self.purge: 1,
                        self.get_blocking: 1, self.complete: 1, self.complete_poll: 1}
            if "caller_runs" not in self.policies:
                choices |= {self.invoke_all: 1, self.invoke_any: 1}
        return choices

    def execute(self):
        name, kind = self.task(*self.kinds())
        return [f"execute {name} {kind}"]

    def submit(self):
        name, kind = self.task(*self.kinds())
        self.futures.append(name)
        return [f"submit {name} {kind}"]

    def complete(self):
        name, kind = self.task(*self.kinds())
        return [f"complete {name} {kind}"]

    def complete_poll(self):
        return ["complete_poll"]

    def invoke_all(self):
        # Long enough to be sent before the first one ends, and to end before the time is up.
        most = 3 if self.queue in ("linked", "priority") else 1
        return ["invoke_all " + " ".join(f"{self.new_name()}=sleep:120" for _ in range(
            self.chance.randint(1, most))) + " timeout=900"]

    def invoke_any(self):
        kinds = [self.pick("quick", "throw", "sleep:120")]
        if self.queue == "linked" and kinds != ["quick"]:
            kinds = ["throw"] * self.chance.randint(0, 2) + kinds
        return ["invoke_any " + " ".join(f"{self.new_name()}={k}" for k in kinds) + " timeout=700"]

    def resize(self):
        what = self.pick("core", "core", "max", "core_timeout")
        value = self.pick("true", "false") if what == "core_timeout" else self.chance.randint(-1, 5)
        return [f"set {what} {value}"]

    def prestart(self):
        return [self.pick("prestart", "prestart_all")]

    def look_at_queue(self):
        return ["queue"]

    def remove(self):
        return [f"remove {self.known(self.tasks)}"]

    def purge(self):
        return ["purge"]

    def set_policy(self):
        return [f"set policy {self.pick(*self.policies)}"]

    def end_it(self):
        self.is_shut_down = True
        return [self.pick("shutdown", "shutdown", "shutdown_now")]

    def end(self):
        if self.chance.random() < 0.7:
            yield [self.pick("shutdown", "shutdown_now")]
        for name in self.gates[:]:
            if self.chance.random() < 0.7:
                yield [f"release {name}"]
        yield ["await 300"]


class TimedPool(Pool):
    """A pool whose idle threads leave, after a while that each step waits for."""

    length = (4, 7)

    def begin(self):
        for step in super().begin():
            yield [step[0].replace(f"keep_alive={self.keep_alive}", "keep_alive=250")]

    def choices(self):
        choices = {self.execute: 8, self.release: 5, self.prestart: 1, self.set_keep_alive: 2}
        if "caller_runs" not in self.policies:
            choices[self.resize] = 4
        return {self.after_a_while(choice): weight for choice, weight in choices.items()}

    def set_keep_alive(self):
        return [f"set keep_alive {self.pick(-1, 0, 100, 250, FAR)}"]

    @staticmethod
    def after_a_while(choice):
        return lambda: choice() + ["sleep 600"]


class Scheduled(Maker):
    """A scheduled pool with a free thread, so that what is soon due runs soon."""

    length = (3, 7)

    def begin(self):
        self.is_shut_down = False
        options = [f"core={self.chance.randint(0, 2)}"]
        for option in SCHEDULED_OPTIONS:
            if self.chance.random() < 0.5:
                options.append(f"{option}={self.pick('true', 'false')}")
        if self.chance.random() < 0.2:
            options.append("core_timeout=true")
        if self.chance.random() < 0.4:
            options.append(f"policy={self.pick('abort', 'record')}")
        yield ["scheduled " + " ".join(options)]

    def choices(self):
        return {self.soon: 5, self.periodic: 4, self.far: 2, self.at_once: 2, self.touch: 2,
                self.end_it: 1}

    def schedule(self, how, times, *kinds):
        name, kind = self.task(*kinds)
        self.futures.append(name)
        return [f"{how} {name} {times} {kind}"]

    def soon(self):
        return (self.schedule("schedule", 500, "quick", "throw", "sleep:100", "interrupt_self") +
                self.meanwhile() + ["sleep 800"])

    def periodic(self):
        how = self.pick("fixed_rate", "fixed_delay")
        return (self.schedule(how, "500 150", "throw_after:1", "throw_after:2", "throw_after:3") +
                self.meanwhile() + ["sleep 1200"])

    def meanwhile(self):
        return self.touch() if self.chance.random() < 0.5 else []

    def far(self):
        return self.schedule(*self.pick(("schedule", FAR), ("fixed_rate", f"{FAR} 100"),
                                        ("fixed_delay", f"{FAR} 100"), ("fixed_rate", "0 0"),
                                        ("fixed_rate", f"0 {FAR}")), "quick")

    def at_once(self):
        name, kind = self.task("quick", "throw", "sleep:100")
        how = self.pick("execute", "submit", "schedule")
        if how != "execute":
            self.futures.append(name)
        return [f"{how} {name} {'0 ' if how == 'schedule' else ''}{kind}"]

    def touch(self):
        last = self.futures[-1:]
        return self.pick(lambda: [f"cancel {self.known(last)}{self.pick('', ' interrupt')}"],
                         lambda: [f"remove {self.known(last)}"], lambda: ["purge"],
                         lambda: ["queue"], lambda: [f"get {self.known(last)}"],
                         self.cancel, self.look_at_future, self.end_it, self.set_option,
                         self.set_option)()

    def set_option(self):
        return [f"set {self.pick(*SCHEDULED_OPTIONS)} {self.pick('true', 'false')}"]

    def end_it(self):
        self.is_shut_down = True
        return [self.pick("shutdown", "shutdown", "shutdown_now")]

    def end(self):
        yield ["queue"]
        yield [self.pick("shutdown", "shutdown_now")]
        for name in self.futures[-3:]:
            yield [f"get {name}"]
        yield ["await 300"]


class BlockedScheduled(Scheduled):
    """A scheduled pool whose threads may all be held up: nothing in it is due soon."""

    length = (8, 16)

    def choices(self):
        return {self.held: 5, self.far: 4, self.at_once: 4, self.release: 4, self.touch: 4,
                self.resize: 2, self.end_it: 1}

    def held(self):
        name, kind = self.task("gate", "gate", "stubborn")
        how = self.pick("execute", "submit", "schedule", "fixed_rate")
        if how != "execute":
            self.futures.append(name)
        times = {"schedule": "0 ", "fixed_rate": f"0 {FAR} "}.get(how, "")
        return [f"{how} {name} {times}{kind}"]

    def resize(self):
        return [self.pick("prestart", "prestart_all", f"set core {self.chance.randint(-1, 4)}",
                          f"set max {self.chance.randint(0, 4)}",
                         f"set core_timeout {self.pick('true', 'false')}")]


class Queue(Maker):
    """A queue alone."""

    length = (12, 30)

    def begin(self):
        self.spec = self.pick("array:1", "array:2", "array:3:fair", "linked:1", "linked:3", "linked",
                              "sync", "sync:fair", "priority", "delay")
        self.is_bounded = self.spec.startswith("array") or self.spec.startswith("linked:")
        self.has_putters = not self.is_bounded or self.chance.random() < 0.5
        yield [f"bq {self.spec}"]

    def choices(self):
        choices = {self.insert: 6, self.take: 3, self.remove: 5, self.look: 3, self.interrupt: 1}
        if self.has_putters:
            choices[self.put] = 3
        if not (self.has_putters and self.is_bounded):
            choices |= {self.drain: 1, self.clear: 1}
        return choices

    def element(self):
        if self.spec != "delay":
            return self.pick("a", "b", "c", "d", "e")
        return f"{self.new_name()}:{self.pick(0, 0, FAR, 400)}"

    @staticmethod
    def settled(line):
        """What comes due is waited for."""
        return [line, "sleep 600"] if ":400" in line else [line]

    def insert(self):
        element = self.element()
        return self.settled(self.pick(f"offer {element}", f"add {element}",
                                      f"offer_for {element} 100"))

    def put(self):
        return self.settled(f"put {self.element()}")

    def take(self):
        return ["take"]

    def remove(self):
        return [self.pick("poll", "poll", "poll_for 100", "remove_head",
                          f"drain {self.chance.randint(-1, 1)}", f"erase {self.named()}")]

    def drain(self):
        return [self.pick("drain", "drain 2", "drain 3")]

    def clear(self):
        return ["clear"]

    def interrupt(self):
        return ["interrupt_waiters"]

    def look(self):
        return [self.pick("peek", "remaining", f"contains {self.named()}")]

    def named(self):
        return self.known(self.tasks) if self.spec == "delay" else self.pick("a", "b", "c", "d", "e")


class FutureTask(Maker):
    """Tasks that run on threads of their own."""

    length = (10, 24)

    def choices(self):
        return {self.make: 5, self.run: 7, self.release: 4, self.cancel: 3, self.look_at_future: 4,
                self.get_blocking: 3, self.interrupt: 1}

    def make(self):
        name, kind = self.task("gate", "gate", "stubborn", "quick", "throw", "throw_after:2",
                               "sleep:120", "interrupt_self")
        self.futures.append(name)
        return [f"task {name} {kind}"]

    def run(self):
        return [f"{self.pick('run', 'run', 'run_and_reset')} {self.known(self.futures[-3:])}"]

    def interrupt(self):
        return ["interrupt_waiters"]
