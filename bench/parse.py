"""What Airflow's parse of the DAG folder costs: a hundred pipeline files of the size of retail, against
importing Airflow itself.

Run in Airflow's environment, as the DAG processor does it. CPU seconds, so that other work on the machine
counts less.
"""

import json
import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FILES = 100
AIM_SECONDS = 3.0
INSIDE = """
import json, sys, time
from pathlib import Path
sys.path.insert(0, sys.argv[2])
started = time.process_time()
from airflow.sdk import DAG
import airflow.providers.standard.operators.hitl
imported = time.process_time()
from weir_dag import build_dags
dags, problems = build_dags(Path(sys.argv[1]))
print(json.dumps({"dags": len(dags), "problems": problems, "airflow": imported - started, "weir": time.process_time() - imported}))
"""


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        pipelines = root / "conf" / "pipelines"
        pipelines.mkdir(parents=True)
        text = (ROOT / "conf" / "pipelines" / "retail.yml").read_text(encoding="utf-8")
        for number in range(FILES):
            (pipelines / f"p{number}.yml").write_text(
                text.replace("pipeline: retail", f"pipeline: p{number}"), encoding="utf-8"
            )
        environ = {
            "AIRFLOW_HOME": f"{root}/airflow_home",
            "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
            "PATH": "/usr/bin:/bin",
        }
        command = [
            str(ROOT / ".envs" / "airflow" / "bin" / "python"),
            "-c",
            INSIDE,
            str(root),
            str(ROOT / "plugins"),
        ]
        done = subprocess.run(command, env=environ, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["dags"] == FILES, found["problems"]
    print(
        f"parse of {FILES} pipeline files: {found['weir']:.2f} CPU s (aim {AIM_SECONDS:.0f}); Airflow's own"
        f" import: {found['airflow']:.2f}"
    )


if __name__ == "__main__":
    main()
