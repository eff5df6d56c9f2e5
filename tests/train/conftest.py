"""A real Slurm of one node, for the cluster path."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

DAEMONS = ("munged", "slurmctld", "slurmd", "srun", "squeue", "sbatch")
START_SECONDS = 30


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def _configuration(folder: Path, host: str) -> str:
    return f"""
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmctldPort={_free_port()}
SlurmdPort={_free_port()}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=sched_interval=1,batch_sched_delay=0
MpiDefault=none
JobRequeue=1
ReturnToService=2
NodeName={host} NodeAddr=127.0.0.1 CPUs={os.cpu_count()} State=UNKNOWN
PartitionName=debug Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""


def _wait_until_idle() -> None:
    deadline = time.monotonic() + START_SECONDS
    said = ""
    while time.monotonic() < deadline:
        answer = subprocess.run(
            ["sinfo", "-h", "-o", "%T"], capture_output=True, text=True, check=False
        )
        said = answer.stdout.strip() or answer.stderr.strip()
        if said == "idle":
            return
        time.sleep(0.3)
    pytest.fail(f"Slurm did not start within {START_SECONDS} s: {said}")


@pytest.fixture(scope="session")
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A running single-node cluster; the folder holds its logs."""
    absent = [name for name in DAEMONS if shutil.which(name) is None]
    if absent:
        pytest.skip(f"no {absent[0]}: install Debian's slurm-wlm and munge")
    if os.getuid() != 0:
        pytest.skip("starting Slurm's daemons needs root")
    # Its socket's path must stay under the 108 bytes that the system allows.
    folder = tmp_path_factory.mktemp("slurm")
    host = socket.gethostname().split(".")[0]
    for name in ("state", "spool"):
        (folder / name).mkdir()
    (folder / "slurm.conf").write_text(_configuration(folder, host))
    key = folder / "munge.key"
    key.write_bytes(os.urandom(1024))
    key.chmod(0o400)
    munge = ["munged", "--foreground", "--force", f"--socket={folder}/munge.socket"]
    munge += [f"--key-file={key}", f"--pid-file={folder}/munged.pid"]
    munge += [f"--log-file={folder}/munged.log", f"--seed-file={folder}/munge.seed"]
    with ExitStack() as stack, pytest.MonkeyPatch.context() as patch:
        patch.setenv("SLURM_CONF", str(folder / "slurm.conf"))
        output = stack.enter_context((folder / "daemons.log").open("wb"))
        for command in (munge, ["slurmctld", "-D", "-i"], ["slurmd", "-D"]):
            daemon = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
            stack.callback(daemon.wait)
            stack.callback(daemon.terminate)
            time.sleep(1.0)
        _wait_until_idle()
        yield folder
        subprocess.run(["scancel", "--user=root"], check=False)
