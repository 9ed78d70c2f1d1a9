"""docker-compose.yml and its Dockerfile, followed reference by reference: there is no engine here that could
run them.
"""

import json
import re
import socket
import sqlite3
import stat
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from service.container import COMMAND

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docker-compose.yml").read_text(encoding="utf-8")
COMPOSE: dict[str, Any] = yaml.safe_load(TEXT)
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
DOCKERFILE = (ROOT / "docker" / "Dockerfile").read_text(encoding="utf-8")
EXAMPLE = (ROOT / ".env.example").read_text(encoding="utf-8")
TOOLS = Path(sys.executable).parent
VARIABLE = re.compile(r"(?<!\$)\$\{(\w+)(:[-?])?([^}]*)\}")
IN_IMAGE = {"python": "python", "airflow": "airflow", "pg_isready": "postgres", "wget": "versitygw"}

each_service = pytest.mark.parametrize("name", SERVICES)


@pytest.mark.system
def test_the_file_keeps_to_the_schema_of_compose_files() -> None:
    command = [
        str(TOOLS / "check-jsonschema"),
        "--builtin-schema",
        "vendor.compose-spec",
        str(ROOT / "docker-compose.yml"),
    ]
    checked = subprocess.run(command, capture_output=True, text=True, check=False)

    assert checked.returncode == 0, checked.stdout


@pytest.mark.system
def test_hadolint_finds_nothing_in_the_dockerfile() -> None:
    checked = subprocess.run(
        [TOOLS / "hadolint", "--no-color", ROOT / "docker" / "Dockerfile"],
        capture_output=True,
        text=True,
        check=False,
    )

    assert (checked.returncode, checked.stdout) == (0, "")


def test_the_parts_that_a_team_needs_are_there() -> None:
    airflow = {
        f"airflow-{part}" for part in ("init", "api-server", "scheduler", "dag-processor", "triggerer")
    }

    assert set(SERVICES) == {"postgres", *airflow, "spark-master", "spark-worker-1", "spark-worker-2", "s3"}
    assert SERVICES["s3"]["profiles"] == ["s3"]


@each_service
def test_a_service_waits_only_for_services_and_for_health_that_is_checked(name: str) -> None:
    for other, how in SERVICES[name].get("depends_on", {}).items():
        assert other in SERVICES
        assert how["condition"] != "service_healthy" or "healthcheck" in SERVICES[other]
        assert how["condition"] != "service_completed_successfully" or SERVICES[other]["restart"] == "no"


def test_all_that_a_load_needs_is_stopped_after_the_scheduler_has_let_it_finish() -> None:
    """Compose stops a service after those that depend on it, and all others at once."""
    needed, found = {"airflow-scheduler"}, set[str]()
    while needed:
        found |= needed
        needed = {other for name in needed for other in SERVICES[name].get("depends_on", {})} - found

    parts = {"postgres", "airflow-api-server", "spark-master", "spark-worker-1", "spark-worker-2"}
    assert parts <= found


def test_networks_volumes_and_secrets_are_declared_and_used() -> None:
    used: dict[str, set[str]] = {"networks": set(), "volumes": set(), "secrets": set()}
    for service in SERVICES.values():
        used["networks"] |= set(service["networks"])
        used["secrets"] |= set(service.get("secrets", []))
        used["volumes"] |= {
            volume.split(":")[0]
            for volume in service.get("volumes", [])
            if not volume.startswith(("./", "/"))
        }

    assert {kind: set(COMPOSE[kind]) for kind in used} == used


@each_service
def test_what_is_mounted_from_the_repository_is_there_and_cannot_be_written(name: str) -> None:
    for volume in SERVICES[name].get("volumes", []):
        source, _, *mode = volume.split(":")
        if source.startswith("./"):
            assert (ROOT / source).is_dir(), volume
            assert mode == ["ro"], volume


@each_service
def test_a_container_writes_only_where_its_user_may(name: str) -> None:
    """A new volume takes the owner of the folder in the image: each must be made there for the user."""
    if "build" in SERVICES[name]:
        made = re.search(r"install --directory --owner weir .*?&&", DOCKERFILE, re.DOTALL)
        assert made is not None
        targets = [
            volume.split(":")[1] for volume in SERVICES[name]["volumes"] if not volume.startswith("./")
        ]
        assert [target for target in targets if target not in made[0].split()] == []


def test_every_variable_is_in_the_example_and_no_secret_has_a_default() -> None:
    named = set(re.findall(r"^(\w+)=", EXAMPLE, re.MULTILINE))
    found = {variable for variable, _, _ in VARIABLE.findall(TEXT)}

    assert found == named
    for variable, operator, _ in VARIABLE.findall(TEXT):
        assert operator == (":?" if variable == "WEIR_SECRETS" else ":-")
    for secret, source in COMPOSE["secrets"].items():
        assert source["file"].startswith("${WEIR_SECRETS:?run docker/new-secrets.sh")
        assert source["file"].endswith(f"/{secret}")


def test_no_password_or_key_stands_in_a_file() -> None:
    elsewhere = ("/run/secrets/", "/run/weir/", "cat /run/secrets/", "./secrets", "$$(cat /run/secrets/")
    for text in (TEXT, EXAMPLE):
        named = re.findall(r"^\s*(\w*(?:PASSWORD|SECRET|KEY|TOKEN)\w*)\s*[:=]\s*(.+)$", text, re.MULTILINE)
        assert [(name, value) for name, value in named if not value.startswith(elsewhere)] == []


def test_defaults_are_those_of_the_example() -> None:
    example = dict(re.findall(r"^(\w+)=(.*)$", EXAMPLE, re.MULTILINE))

    assert {
        name: default for name, operator, default in VARIABLE.findall(TEXT) if operator == ":-"
    }.items() <= example.items()


@each_service
def test_ports_are_open_on_this_machine_alone(name: str) -> None:
    assert [port for port in SERVICES[name].get("ports", []) if not port.startswith("127.0.0.1:")] == []
    assert "network_mode" not in SERVICES[name]


@each_service
def test_a_service_says_whether_it_is_healthy_or_ends(name: str) -> None:
    assert ("healthcheck" in SERVICES[name]) == (SERVICES[name]["restart"] != "no")


@each_service
def test_a_service_is_bounded_and_comes_back(name: str) -> None:
    service = SERVICES[name]

    assert set(service["deploy"]["resources"]["limits"]) == {"cpus", "memory"}
    assert service["restart"] in {"unless-stopped", "no"}
    assert service["logging"]["options"] == {"max-size": "10m", "max-file": "3"}


@each_service
def test_no_service_runs_as_root_or_can_become_it(name: str) -> None:
    service = SERVICES[name]
    user = service.get("user") or last_user(service["build"]["target"])

    assert user.split(":")[0] not in {"root", "0"}
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]


def test_images_are_pinned_and_stages_are_there() -> None:
    bases = re.findall(r"^FROM (\S+) AS (\S+)$", DOCKERFILE, re.MULTILINE)
    stages = [stage for _, stage in bases]
    foreign = [base for base, _ in bases if base not in stages]
    foreign += [service["image"] for service in SERVICES.values() if "build" not in service]

    assert [
        image
        for image in foreign
        if not re.search(r":v?\d+\.\d+(\.\d+)?(-\w+)*(@sha256:[0-9a-f]{64})?$", image)
    ] == []
    assert {service["build"]["target"] for service in SERVICES.values() if "build" in service} <= set(stages)
    assert len(re.findall(r"^FROM ", DOCKERFILE, re.MULTILINE)) == len(bases)


def test_what_the_dockerfile_copies_is_there_and_reaches_the_builder() -> None:
    reaches = set(re.findall(r"^!(\S+)$", (ROOT / ".dockerignore").read_text(encoding="utf-8"), re.MULTILINE))
    copied = {
        source
        for line in re.findall(r"^COPY (.+)$", DOCKERFILE, re.MULTILINE)
        for source in line.split()[:-1]
    }

    assert [source for source in copied if not (ROOT / source).exists()] == []
    assert copied == reaches


def test_the_dockerfile_makes_targets_that_the_makefile_has() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    made = re.findall(r"make (\.envs/\S+)", DOCKERFILE)

    assert made == [".envs/spark/.ready", ".envs/airflow/.ready"]
    assert [target for target in made if f"\n{target}: " not in makefile] == []


@each_service
def test_commands_are_in_the_locked_environments_or_in_the_image(name: str) -> None:
    service = SERVICES[name]
    commands = [service.get("command") or [], (service.get("healthcheck") or {}).get("test", [])[1:]]
    for first, *rest in filter(None, commands):
        if first.startswith("/opt/weir/"):
            assert (ROOT / first.removeprefix("/opt/weir/")).exists(), first
        elif not first.startswith("--"):  # an option of the image's own entrypoint
            assert IN_IMAGE[first] in (
                service["image"] if "build" not in service else f"python {service['build']['target']}"
            )
        for script in rest:
            if script.startswith("/opt/weir/"):
                assert (ROOT / script.removeprefix("/opt/weir/")).exists(), script


@pytest.mark.system
def test_every_command_of_airflow_is_one_that_airflow_has() -> None:
    asked = {
        tuple(service["command"][1:])
        for service in SERVICES.values()
        if service.get("command", [""])[0] == "airflow"
    }
    asked |= {
        COMMAND
        for service in SERVICES.values()
        if service.get("command", [])[1:] == ["-m", "service", "scheduler"]
    }
    source = (
        "import sys; from airflow.cli.cli_parser import get_parser\nfor line in sys.stdin:"
        " get_parser().parse_args(line.split())"
    )
    command = [str(ROOT / ".envs" / "airflow" / "bin" / "python"), "-c", source]
    parsed = subprocess.run(
        command, input="\n".join(map(" ".join, asked)), capture_output=True, text=True, check=False
    )

    assert len(asked) == 5
    assert parsed.returncode == 0, parsed.stderr


def test_the_cluster_profile_is_the_cluster_of_the_file() -> None:
    profile = yaml.safe_load((ROOT / "conf" / "profiles" / "cluster.yml").read_text(encoding="utf-8"))
    master = SERVICES["spark-master"]["command"]
    cores = sum(
        int(VARIABLE.sub(r"\3", SERVICES[f"spark-worker-{number}"]["command"][3])) for number in (1, 2)
    )

    assert (
        profile["master"]
        == f"spark://{master[master.index('--host') + 1]}:{master[master.index('--port') + 1]}"
    )
    assert (
        SERVICES["spark-worker-1"]["command"][-1]
        == SERVICES["spark-worker-2"]["command"][-1]
        == profile["master"]
    )
    assert (
        profile["spark"]["spark.authenticate"] == profile["spark"]["spark.network.crypto.enabled"] == "true"
    )
    parallel = int(default_of(SERVICES["airflow-scheduler"]["environment"]["AIRFLOW__CORE__PARALLELISM"]))
    memory = gigabytes(default_of(SERVICES["airflow-scheduler"]["deploy"]["resources"]["limits"]["memory"]))
    assert parallel * profile["spark"]["spark.cores.max"] <= cores, (
        "a run would wait for the cores of another"
    )
    assert parallel * (gigabytes(profile["driver_memory"]) + 1) + 1 <= memory, (
        "drivers would end one another for memory"
    )
    assert SERVICES["airflow-scheduler"]["environment"]["WEIR_PROFILE"] == "cluster"


@pytest.mark.system
def test_secrets_are_made_once_and_only_their_owner_reaches_them(tmp_path: Path) -> None:
    command = ["sh", str(ROOT / "docker" / "new-secrets.sh"), str(tmp_path)]
    subprocess.run(command, check=True, capture_output=True)
    first = {path.name: path.read_text(encoding="utf-8") for path in (tmp_path / "secrets").iterdir()}
    subprocess.run(command, check=True, capture_output=True)

    assert {path.name: path.read_text(encoding="utf-8") for path in (tmp_path / "secrets").iterdir()} == first
    assert set(first) == set(COMPOSE["secrets"])
    assert len(set(first.values())) == len(first)
    assert stat.S_IMODE((tmp_path / "secrets").stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / ".env").stat().st_mode) == 0o600
    assert len(first["airflow_fernet_key"]) == 44
    assert list(json.loads(first["airflow_passwords"])) == ["admin"]


@pytest.mark.system
@pytest.mark.parametrize("command", ["airflow", "spark-class"])
def test_the_entrypoint_needs_every_secret_and_hands_it_on_in_files_alone(
    command: str, tmp_path: Path
) -> None:
    subprocess.run(
        ["sh", str(ROOT / "docker" / "new-secrets.sh"), str(tmp_path)], check=True, capture_output=True
    )
    script = in_folder(tmp_path, (ROOT / "docker" / "entrypoint.sh").read_text(encoding="utf-8"))
    fake = tmp_path / command
    fake.write_text("#!/bin/sh\nenv\n", encoding="utf-8")
    fake.chmod(0o755)
    environ = {"PATH": f"{tmp_path}:/usr/bin:/bin"}

    started = subprocess.run(
        ["sh", "-c", script, "entrypoint", command], env=environ, capture_output=True, text=True, check=True
    )
    (tmp_path / "secrets" / "spark_secret").unlink()
    refused = subprocess.run(
        ["sh", "-c", script, "entrypoint", command], env=environ, capture_output=True, text=True, check=False
    )

    defaults = tmp_path / "memory" / "spark" / "spark-defaults.conf"
    assert "spark.authenticate.secret " in defaults.read_text(encoding="utf-8")
    assert stat.S_IMODE(defaults.stat().st_mode) == 0o600
    secrets = [path.read_text(encoding="utf-8") for path in (tmp_path / "secrets").iterdir()]
    assert [secret for secret in secrets if secret in started.stdout] == [], "in the environment of a process"
    is_airflow = command == "airflow"
    assert (
        (tmp_path / "memory" / "passwords.json").exists()
        == (tmp_path / "memory" / "database_url").exists()
        == is_airflow
    )
    assert ("AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_USERS=admin:admin\n" in started.stdout) == is_airflow
    assert "spark_secret is missing or empty; docker/new-secrets.sh" in refused.stderr
    assert refused.returncode == 1


@pytest.mark.system
@pytest.mark.parametrize("users", ["ada", "ada:boss", ":op", "bo:op,a;b:op"])
def test_a_user_without_a_name_or_a_role_gets_no_password(users: str, tmp_path: Path) -> None:
    """Airflow's API server would not come up, and say nothing of WEIR_USERS."""
    (tmp_path / ".env").write_text(f"WEIR_USERS={users}\n", encoding="utf-8")

    refused = subprocess.run(
        ["sh", str(ROOT / "docker" / "new-secrets.sh"), str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
    )

    assert refused.returncode == 1
    assert "write name:role, as in ada:op,bo:viewer; the roles are" in refused.stderr


@pytest.mark.system
def test_further_users_keep_the_passwords_that_were_made_for_them_and_none_begins_without_one(
    tmp_path: Path,
) -> None:
    make = ["sh", str(ROOT / "docker" / "new-secrets.sh"), str(tmp_path)]
    passwords = tmp_path / "secrets" / "airflow_passwords"
    subprocess.run(make, check=True, capture_output=True)
    before = json.loads(passwords.read_text(encoding="utf-8"))
    settings = (tmp_path / ".env").read_text(encoding="utf-8")
    (tmp_path / ".env").write_text(
        settings.replace("WEIR_USERS=", "WEIR_USERS=ada:op,bo:viewer"), encoding="utf-8"
    )
    script = in_folder(tmp_path, (ROOT / "docker" / "entrypoint.sh").read_text(encoding="utf-8"))
    start = ["sh", "-c", script.replace('exec "$@"', "env"), "entrypoint", "airflow", "api-server"]
    environ = {"PATH": "/usr/bin:/bin", "WEIR_USERS": "ada:op,bo:viewer"}

    refused = subprocess.run(start, env=environ, capture_output=True, text=True, check=False)
    for _ in range(2):
        subprocess.run(make, check=True, capture_output=True)
        made = json.loads(passwords.read_text(encoding="utf-8"))
        before.update({user: made[user] for user in ("ada", "bo") if user not in before})
        assert made == before
    started = subprocess.run(start, env=environ, capture_output=True, text=True, check=True)

    assert (refused.returncode, "the user ada has no password; docker/new-secrets.sh" in refused.stderr) == (
        1,
        True,
    )
    assert "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_USERS=admin:admin,ada:op,bo:viewer" in started.stdout
    assert json.loads((tmp_path / "memory" / "passwords.json").read_text(encoding="utf-8")) == made
    assert stat.S_IMODE((tmp_path / "secrets").stat().st_mode) == 0o700


@pytest.mark.system
def test_a_command_by_exec_reads_the_same_database_and_keys_as_the_services(tmp_path: Path) -> None:
    """It does not come by the entrypoint: all that it needs is in the environment of its service, and in
    files.
    """
    subprocess.run(
        ["sh", str(ROOT / "docker" / "new-secrets.sh"), str(tmp_path)], check=True, capture_output=True
    )
    script = in_folder(tmp_path, (ROOT / "docker" / "entrypoint.sh").read_text(encoding="utf-8"))
    subprocess.run(
        ["sh", "-c", script, "entrypoint", "airflow"],
        env={"PATH": f"{fake_airflow(tmp_path)}:/usr/bin:/bin"},
        check=True,
    )
    given = {
        name: in_folder(tmp_path, default_of(value))
        for name, value in SERVICES["airflow-scheduler"]["environment"].items()
    }
    source = "from airflow.configuration import conf\n" + "".join(
        f"print(conf.get({section!r}, {key!r}))\n"
        for section, key in (
            ("database", "sql_alchemy_conn"),
            ("core", "fernet_key"),
            ("api", "secret_key"),
            ("api_auth", "jwt_secret"),
        )
    )
    python = str(ROOT / ".envs" / "airflow" / "bin" / "python")
    environ = {**given, "PATH": "/usr/bin:/bin", "AIRFLOW_HOME": str(tmp_path / "home")}
    asked = subprocess.run([python, "-c", source], env=environ, capture_output=True, text=True, check=True)

    secrets = {path.name: path.read_text(encoding="utf-8") for path in (tmp_path / "secrets").iterdir()}
    url = f"postgresql+psycopg2://airflow:{secrets['postgres_password']}@postgres/airflow"
    keys = [secrets[name] for name in ("airflow_fernet_key", "airflow_secret_key", "airflow_jwt_secret")]
    assert asked.stdout.splitlines()[-4:] == [url, *keys]
    for service in SERVICES.values():
        if "build" in service:
            assert service["environment"]["SPARK_CONF_DIR"] == "/run/weir/spark"


@pytest.mark.system
@pytest.mark.parametrize(("age", "host", "code"), [(5, "here", 0), (600, "here", 1), (5, "elsewhere", 1)])
def test_a_part_of_airflow_is_healthy_by_its_own_heartbeat(
    age: int, host: str, code: int, tmp_path: Path
) -> None:
    beat = (datetime.now(UTC) - timedelta(seconds=age)).replace(tzinfo=None).isoformat(" ")
    with sqlite3.connect(tmp_path / "airflow.db") as database:
        database.execute("CREATE TABLE job (job_type TEXT, hostname TEXT, state TEXT, latest_heartbeat TEXT)")
        name = socket.gethostname() if host == "here" else host
        database.execute("INSERT INTO job VALUES ('TriggererJob', ?, 'running', ?)", (name, beat))
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "database_url").write_text(
        f"sqlite:///{tmp_path / 'airflow.db'}", encoding="utf-8"
    )
    script = tmp_path / "health.py"
    script.write_text(
        in_folder(tmp_path, (ROOT / "docker" / "health.py").read_text(encoding="utf-8")), encoding="utf-8"
    )

    asked = subprocess.run(
        [ROOT / ".envs/airflow/bin/python", script, "heartbeat", "TriggererJob"],
        capture_output=True,
        check=False,
    )

    assert asked.returncode == code, asked.stderr


def test_each_part_is_asked_for_its_own_health() -> None:
    built = {
        name: service for name, service in SERVICES.items() if "build" in service and "healthcheck" in service
    }
    asked = {name: service["healthcheck"]["test"][3:] for name, service in built.items()}

    assert asked == {
        "airflow-api-server": ["api"],
        "airflow-scheduler": ["heartbeat", "SchedulerJob"],
        "airflow-dag-processor": ["heartbeat", "DagProcessorJob"],
        "airflow-triggerer": ["heartbeat", "TriggererJob"],
        "spark-master": ["port", "7077"],
        "spark-worker-1": ["port", "7078"],
        "spark-worker-2": ["port", "7078"],
    }


def test_packages_are_installed_before_the_code_is_copied() -> None:
    """Else each change of the code would install them again."""
    stages = dict(re.findall(r"^FROM \S+ AS (\S+)$(.*?)(?=^FROM |\Z)", DOCKERFILE, re.MULTILINE | re.DOTALL))

    assert "COPY spark_jobs/" not in stages["packages"]
    assert "make " not in stages["spark"]
    assert stages["airflow"].index("make .envs/airflow/.ready") < stages["airflow"].index("COPY spark_jobs/")


def test_what_spark_spills_is_on_a_volume_and_a_killed_service_finds_its_part_empty() -> None:
    folders = {
        name: service.get("environment", {}).get("SPARK_LOCAL_DIRS") for name, service in SERVICES.items()
    }

    assert {name: folder for name, folder in folders.items() if folder} == {
        name: f"/data/scratch/{name}" for name in ("airflow-scheduler", "spark-worker-1", "spark-worker-2")
    }
    for name in ("spark-worker-1", "spark-worker-2"):
        assert SERVICES[name]["environment"]["SPARK_WORKER_DIR"] == f"/data/scratch/{name}/work"
        assert SERVICES[name]["hostname"] == name


@pytest.mark.system
def test_a_file_is_landed_under_a_name_that_runs_pass_over_until_it_is_whole(tmp_path: Path) -> None:
    fake = tmp_path / "docker"
    fake.write_text('#!/bin/sh\necho "$@" >> "$CALLS"\ncat >> "$CALLS"\n', encoding="utf-8")
    fake.chmod(0o755)
    (tmp_path / "day").mkdir()
    (tmp_path / "day/orders 1.json").write_text("what the file says\n", encoding="utf-8")
    environ = {"PATH": f"{tmp_path}:/usr/bin:/bin", "CALLS": str(tmp_path / "calls")}

    command = ["sh", str(ROOT / "docker" / "land.sh"), "retail/orders", "day/orders 1.json"]
    subprocess.run(command, cwd=tmp_path, env=environ, stdin=subprocess.DEVNULL, check=True)

    assert (tmp_path / "calls").read_text(encoding="utf-8").splitlines() == [
        "compose exec -T airflow-scheduler mkdir -p /data/landing/retail/orders",
        (
            'compose exec -T airflow-scheduler sh -c cat > "$1" land /data/landing/retail/orders/.orders'
            " 1.json.part"
        ),
        "what the file says",
        (
            "compose exec -T airflow-scheduler mv /data/landing/retail/orders/.orders 1.json.part"
            " /data/landing/retail/orders/orders 1.json"
        ),
    ]


def in_folder(folder: Path, text: str) -> str:
    """A text of the containers, for a folder here."""
    return text.replace("/run/secrets", str(folder / "secrets")).replace("/run/weir", str(folder / "memory"))


def fake_airflow(folder: Path) -> Path:
    command = folder / "airflow"
    command.write_text("#!/bin/sh\n", encoding="utf-8")
    command.chmod(0o755)
    return folder


def default_of(value: str) -> str:
    return VARIABLE.sub(r"\3", str(value))


def gigabytes(memory: str) -> int:
    return int(memory.removesuffix("g"))


def last_user(target: str) -> str:
    """The user of a stage: the last one that it names."""
    stage = re.search(rf"^FROM \S+ AS {target}$(.*?)(?=^FROM |\Z)", DOCKERFILE, re.MULTILINE | re.DOTALL)
    assert stage is not None
    return str(re.findall(r"^USER (\S+)$", stage[1], re.MULTILINE)[-1])
