"""The processes that a soak starts: by name, and ended only by process id.

Containers of YARN outlive the NodeManager that started them. This process then becomes their
parent (a "subreaper"). All descendants stay below it in the process tree, and nothing else does.
"""

import ctypes
import os
import signal
import socket
import subprocess
import time

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
LIBC = ctypes.CDLL(None, use_errno=True)

# Below Linux's range of ports for outgoing connections.
PORTS = range(20_000, 32_000)


def adopt_orphans():
    """Makes this process the parent of every descendant whose own parent ends."""
    if LIBC.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_CHILD_SUBREAPER)")


def free_port(random, taken):
    """Returns a TCP port of the loopback addresses that no process listens on."""
    while True:
        port = random.choice(PORTS)
        with socket.socket() as probe:
            if port in taken or probe.connect_ex(("127.0.0.1", port)) == 0:
                continue
            try:
                probe.close()
                with socket.socket() as server:
                    server.bind(("0.0.0.0", port))
            except OSError:
                continue
        taken.add(port)
        return port


def _stat(pid):
    """State and parent of a process; None once it has ended."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            # The name in parentheses may hold anything, blanks too.
            fields = file.read().rpartition(")")[2].split()
        return fields[0], int(fields[1])
    except (OSError, IndexError):
        return None


def command_line(pid):
    """The arguments of a process; none once it has ended."""
    try:
        with open(f"/proc/{pid}/cmdline", encoding="utf-8", errors="replace") as file:
            return file.read().split("\0")
    except OSError:
        return []


def descendants():
    """Process ids below this one, parents before their children."""
    children = {}
    for name in os.listdir("/proc"):
        found = _stat(name) if name.isdigit() else None
        if found:
            children.setdefault(found[1], []).append(int(name))
    below, queue = [], [os.getpid()]
    while queue:
        mine = children.get(queue.pop(0), [])
        below += mine
        queue += mine
    return below


class Daemon:
    """A program that is kept running, with one log over all its starts."""

    def __init__(self, name, command, environment, log):
        self.name, self.command, self.environment, self.log = name, command, environment, log
        self.process, self.started, self.starts = None, 0.0, 0

    def start(self):
        """Starts it; it ends with this process even if that is killed."""
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                self.command, env=self.environment, stdin=subprocess.DEVNULL, stdout=log,
                stderr=subprocess.STDOUT, start_new_session=True,
                preexec_fn=lambda: LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL))
        self.started = time.monotonic()
        self.starts += 1

    def runs(self):
        """Whether it runs."""
        return self.process is not None and self.process.poll() is None

    def kill(self):
        """Kills it with kill -9 and waits for its end."""
        if self.runs():
            self.process.kill()
        self.process.wait()

    def stop(self, patience=20):
        """Asks it to end, and kills it if it does not."""
        if self.runs():
            self.process.terminate()
            try:
                self.process.wait(patience)
            except subprocess.TimeoutExpired:
                self.kill()

    def resident_mb(self):
        """Resident memory in MB; 0 once it has ended."""
        try:
            with open(f"/proc/{self.process.pid}/status", encoding="ascii") as file:
                line = next((line for line in file if line.startswith("VmRSS:")), "VmRSS: 0 kB")
            return int(line.split()[1]) // 1024
        except OSError:
            return 0

    def handles(self):
        """Open file descriptors; 0 once it has ended."""
        try:
            return len(os.listdir(f"/proc/{self.process.pid}/fd"))
        except OSError:
            return 0


def reap(known):
    """Reaps adopted processes that ended; others wait for those of `known`."""
    for pid in descendants():
        found = _stat(pid)
        if found == ("Z", os.getpid()) and pid not in known:
            try:
                os.waitpid(pid, os.WNOHANG)
            except ChildProcessError:
                pass


def end_all(patience=20):
    """Kills the remaining descendants until there are none."""
    until = time.monotonic() + patience
    while time.monotonic() < until:
        alive = [pid for pid in descendants() if (_stat(pid) or "Z")[0] != "Z"]
        if not alive:
            return
        for pid in alive:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        time.sleep(0.2)
    raise RuntimeError(f"processes that do not end: {alive}")
