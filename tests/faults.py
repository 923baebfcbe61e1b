"""Faults: commands that are killed, or run out of disk or memory, leave outputs whole or absent.

    python -m tests.faults --trials 500

A trial runs one writing command in a child process, with one fault at a random moment:

    kill, terminate, interrupt   a signal
    disk                         files can grow to a random size only
    memory                       a random amount of memory can be had
    clock                        the clock goes backwards (the command must succeed)
    write                        all writes to files fail from the n-th on, as on a full disk
    allocation                   the n-th allocation of 4 KB or more fails

The last two need a C compiler, and are left out without it (``faultshim.c``).

After it, each output is whole (the bytes of an undisturbed run) or absent (as it was before), and
the message is one line without a traceback. Then the command is repeated, or resumed. Its outputs
have the bytes of an undisturbed run, and nothing else is left, neither beside the outputs nor in
the folder of temporary files. A trial follows from its number: ``--first 123 --trials 1``.
"""

import argparse
import ctypes
import json
import mmap
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

FAULTS = ("kill", "terminate", "interrupt", "disk", "memory", "clock")
COUNTED = ("write", "allocation")  # the n-th fails, by ``faultshim.c``
LARGE = 4096  # bytes of a large allocation; Python's own objects are smaller
# Libraries that crash without memory: NumPy for buffers of ufuncs that convert types, safetensors.
FRAGILE = ("_multiarray_umath.", "_safetensors_rust.")
SIGNALS = {"kill": signal.SIGKILL, "terminate": signal.SIGTERM, "interrupt": signal.SIGINT}
WAITING = (signal.SIGINT, signal.SIGTERM)
LONGEST = 300.0  # seconds, after which a command hangs; it takes about one if nothing else runs
FIT = ("-k", "4", "--max-iter", "12", "--n-jobs", "1")
COMMANDS = {  # what each writes, and its arguments; {} is the output
    "fit": ("m.vbnmf", ("fit", "a.csv", "--label", "label", *FIT, "--out", "{}")),
    "fit with checkpoints": (
        "c.vbnmf",
        ("fit", "a.csv", "--label", "label", *FIT, "--checkpoint", "kept", "--out", "{}"),
    ),
    "fit of shards": ("n.vbnmf", ("fit", "given.shards", *FIT, "--out", "{}")),
    "vectorize": (
        "b.shards",
        ("vectorize", "a.csv", "--label", "label", "--n-jobs", "1", "--out", "{}",
         "--shard-nonzeros", "300"),
    ),
    "predict": ("p.csv", ("predict", "given.vbnmf", "a.csv", "--out", "{}")),
    "transform": ("t.csv", ("transform", "given.vbnmf", "a.csv", "--out", "{}")),
    "report": ("r.html", ("report", "given.vbnmf", "--documents", "a.csv", "--out", "{}")),
    "review": ("s.csv", ("review", "given.vbnmf", "a.csv", "--out", "{}")),
}  # fmt: skip


class Shim:
    """The library that fails the n-th write or allocation, if it is loaded (``with_shim``)."""

    def __init__(self):
        self.fault = getattr(ctypes.CDLL(None), "vbnmf_fault", None)
        if self.fault is not None:
            self.fault.argtypes = [ctypes.c_int, ctypes.c_long, ctypes.c_size_t, ctypes.c_void_p]
            self._page = mmap.mmap(-1, mmap.PAGESIZE)
            self.counts = (ctypes.c_long * 2).from_buffer(self._page)

    def begin(self, fault, number):
        """Count writes and allocations from now on, and fail one of them if ``fault`` says so."""
        if self.fault is not None:
            self._page[:] = bytes(mmap.PAGESIZE)
            which = COUNTED.index(fault) + 1 if fault in COUNTED else 0
            self.fault(which, number, LARGE, ctypes.addressof(self.counts))

    def counted(self):
        """Return how many writes and allocations a child process made."""
        return dict(zip(COUNTED, self.counts, strict=True)) if self.fault is not None else {}

    def library(self):
        """Return the name of the library whose allocation failed in a child process."""
        path = self._page[16:272].split(b"\0")[0].decode() if self.fault is not None else ""
        return Path(path).name


SHIM = Shim()


def with_shim(command):
    """Run a command with the library loaded before all others, and return its exit code."""
    compiler = shutil.which("cc")
    with tempfile.TemporaryDirectory(prefix="vbnmf-shim-") as folder:
        library, source = Path(folder) / "shim.so", Path(__file__).with_name("faultshim.c")
        more = {}
        if compiler is not None:
            options = ["-O2", "-shared", "-fPIC", "-o", str(library), str(source), "-ldl"]
            subprocess.run([compiler, *options], check=True)  # noqa: S603
            more = {"LD_PRELOAD": str(library)}
        return subprocess.run(command, env=os.environ | more, check=False).returncode  # noqa: S603


class Wrong(AssertionError):
    """A promise that a trial broke."""


def prepare(home):
    """Write the inputs of all commands to a folder."""
    from cliruns import make_corpus, ok, write_csv

    texts, labels = make_corpus(0, n_each=30)
    write_csv(home / "a.csv", texts, labels)
    ok("fit", home / "a.csv", "--label", "label", *FIT, "--out", home / "given.vbnmf")
    ok("vectorize", home / "a.csv", "--label", "label", "--out", home / "given.shards",
       "--shard-nonzeros", "300")  # fmt: skip


def run(home, arguments, *, fault=None, at=0.0, scale=1.0):
    """Run a command in a child process, with a fault; return its status and what it said."""
    said = home.parent / "said.txt"
    said.write_text("")
    signal.pthread_sigmask(signal.SIG_BLOCK, WAITING)  # until the command begins
    child = os.fork()
    if child == 0:
        _become(home, said, arguments, fault, at, scale)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, WAITING)
    if fault in SIGNALS:
        time.sleep(at)
        os.kill(child, SIGNALS[fault])
    status = _awaited(child)
    told = said.read_text(encoding="utf-8", errors="replace")
    if status is None:
        raise Wrong(f"did not end: {arguments}, {fault} at {at:.3f}: {told[-300:]}")
    return os.waitstatus_to_exitcode(status), told


def _awaited(child):
    """Wait for a child process; end it and return None if it hangs."""
    end = time.monotonic() + LONGEST
    while time.monotonic() < end:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return status
        time.sleep(0.005)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


def _become(home, said, arguments, fault, at, scale):
    """Be the command, in a child process; never returns."""
    code = 70
    try:
        for stream in (1, 2):
            os.dup2(os.open(said, os.O_WRONLY | os.O_CREAT | os.O_APPEND), stream)
        sys.stdout, sys.stderr = (os.fdopen(stream, "w", encoding="utf-8") for stream in (1, 2))
        signal.signal(signal.SIGINT, signal.default_int_handler)  # it may be ignored here
        os.chdir(home)
        os.environ["TMPDIR"] = str(home.parent / "tmp")
        tempfile.tempdir = None
        sys.argv = ["vbnmf", *arguments]
        from vbnmf.cli import main
        from vbnmf.estimators.checkpoints import Checkpoint

        Checkpoint.__init__.__defaults__ = (1, 0.0)  # a checkpoint at each iteration
        if fault == "disk":
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            limit = int(at * scale)
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        if fault == "memory":
            held = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
            # with less, Python itself can wait for ever for a thread that could not begin
            limit = held + int(2e6 + at**3 * 15e6)
            resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        SHIM.begin(fault, 1 + int(at * scale))
        if fault == "clock":
            for name in ("time", "monotonic"):
                real = getattr(time, name)
                setattr(time, name, lambda real=real: real() - 7200 * random.random())  # noqa: S311
        code = 130  # of a signal that came before the command began
        signal.pthread_sigmask(signal.SIG_UNBLOCK, WAITING)
        code = 1
        main()
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        if code != 130:
            traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def contents(path):
    """Return the bytes of a file, or of the files of a folder; None if there is none."""
    if path.is_dir():
        return {str(p.relative_to(path)): p.read_bytes() for p in path.rglob("*") if p.is_file()}
    return path.read_bytes() if path.is_file() else None


class Trials:
    """Trials of all commands, compared with runs that nothing disturbs."""

    def __init__(self, folder):
        self.folder, self.given = folder, folder / "given"
        self.given.mkdir()
        prepare(self.given)
        self.expected, self.seconds, self.scales = {}, {}, {}
        for name, (out, arguments) in COMMANDS.items():
            home = self._home()
            begin = time.monotonic()
            code, said = run(home, self._filled(arguments, out))
            if code:
                raise RuntimeError(f"{name}: {said}")
            self.seconds[name] = time.monotonic() - begin
            self.expected[name] = contents(home / out)
            files = [p.stat().st_size for p in home.rglob("*") if p.is_file()]
            self.scales[name] = {"disk": max(files), **SHIM.counted()}

    def _filled(self, arguments, out):
        return [part.format(out) for part in arguments]

    def _home(self):
        for name in ("home", "tmp"):
            shutil.rmtree(self.folder / name, ignore_errors=True)
        shutil.copytree(self.given, self.folder / "home")
        (self.folder / "tmp").mkdir()
        return self.folder / "home"

    def __call__(self, number):
        """Run a trial; return its fault and what became of the command."""
        rng = random.Random(f"fault {number}")  # noqa: S311
        name = rng.choice(list(COMMANDS))
        faults = FAULTS if SHIM.fault is None else (*FAULTS, *COUNTED)
        fault = faults[number % len(faults)]
        out, arguments = COMMANDS[name]
        home = self._home()
        at = rng.random() * (1.1 * self.seconds[name] if fault in SIGNALS else 1)
        scale = self.scales[name].get(fault, 1.0)
        code, said = run(home, self._filled(arguments, out), fault=fault, at=at, scale=scale)
        told = f"{name}, {fault} at {at:.3f} {SHIM.library()}, exit code {code}: {said[-400:]}"
        if "Traceback" in said:
            raise Wrong(f"a traceback: {told}")
        library = SHIM.library() if fault == "allocation" else ""
        # such a library ends the process itself, so there is no message
        aborted = code in (-signal.SIGABRT, -signal.SIGSEGV) and library.startswith(FRAGILE)
        if code not in self._codes(fault) and not aborted:
            raise Wrong(f"an exit code: {told}")
        found = contents(home / out)
        if out != "b.shards" and found not in (None, self.expected[name]):
            raise Wrong(f"a broken output: {told}")
        if code == 0 and found != self.expected[name]:
            raise Wrong(f"another output: {told}")
        if code == 2 and not [line for line in said.splitlines() if line.startswith("Error: ")]:
            raise Wrong(f"no message: {told}")
        self._again(home, name, out, arguments, told)
        return fault, "aborted" if aborted else "ended" if code == 0 else "stopped"

    def _codes(self, fault):
        if fault in SIGNALS:
            return (0, -SIGNALS[fault], 128 + SIGNALS[fault])
        return (0,) if fault == "clock" else (0, 2)

    def _again(self, home, name, out, arguments, told):
        """Repeat the command, or resume it."""
        from vbnmf.estimators.checkpoints import has_checkpoint

        again = [*self._filled(arguments, out)]
        if (home / out).is_file():
            (home / out).unlink()
        again += ["--force"] if (home / out / "manifest.json").is_file() else []
        again += ["--resume"] if (home / "kept").is_dir() and has_checkpoint(home / "kept") else []
        code, said = run(home, again)
        if code:
            raise Wrong(f"not repeated ({said[-300:]}) after {told}")
        if contents(home / out) != self.expected[name]:
            raise Wrong(f"other bytes when repeated after {told}")
        left = sorted(p.name for p in home.iterdir() if not (self.given / p.name).exists())
        kept = ["kept"] if "--checkpoint" in arguments else []
        if left != sorted([out, *kept]) or os.listdir(home.parent / "tmp"):
            raise Wrong(f"left behind: {left}, {os.listdir(home.parent / 'tmp')} after {told}")
        if kept and any(p.name.startswith(".") for p in (home / "kept").rglob("*")):
            raise Wrong(f"left behind among the checkpoints after {told}")


def preload():
    """Import what commands import, so that a child process begins at once."""
    import matplotlib  # noqa: F401
    import sklearn.linear_model  # noqa: F401

    import vbnmf.cli
    import vbnmf.estimators.checkpoints
    import vbnmf.report.explorer
    import vbnmf.reviewing
    import vbnmf.selection
    import vbnmf.vectorizing  # noqa: F401


def main(args=None):
    """Run trials, tell what went wrong, and print the counts."""
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(
        "python -m tests.faults", description=__doc__, formatter_class=form
    )
    parser.add_argument("--trials", type=int, default=30, help="number of trials [default: 30]")
    parser.add_argument("--first", type=int, default=0, help="number of the first trial")
    given = parser.parse_args(args)
    if args is None and "LD_PRELOAD" not in os.environ:
        return with_shim([sys.executable, "-m", "tests.faults", *sys.argv[1:]])
    counts, wrong, begin = Counter(), 0, time.monotonic()
    preload()
    with tempfile.TemporaryDirectory(prefix="vbnmf-faults-") as folder:
        trials = Trials(Path(folder))
        for number in range(given.first, given.first + given.trials):
            try:
                counts[" ".join(trials(number))] += 1
            except Wrong as error:
                wrong += 1
                print(f"trial {number}: {error}", flush=True)  # noqa: T201
    told = {"first": given.first, "trials": given.trials, "wrong": wrong, **sorted_(counts)}
    print(json.dumps(told | {"seconds": round(time.monotonic() - begin)}), flush=True)  # noqa: T201
    return int(wrong > 0)


def sorted_(counts):
    """Return counts in the order of their names."""
    return dict(sorted(counts.items()))


if __name__ == "__main__":
    sys.exit(main())
