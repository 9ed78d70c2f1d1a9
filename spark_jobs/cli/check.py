"""`weir check`: every problem of the configuration, with its file and line."""

import json
import sys
from dataclasses import asdict

from spark_jobs.config.checks import check_folder
from spark_jobs.config.text import plain_lines


def check_command(as_json: bool) -> int:
    problems = check_folder()
    if as_json:
        print(json.dumps({"problems": [asdict(problem) | {"value": str(problem.value)} for problem in problems]}))
    elif problems:
        print("\n".join(plain_lines(problem) for problem in problems), file=sys.stderr)
        print(f"error: {len(problems)} problem{'s' if len(problems) > 1 else ''} in the configuration", file=sys.stderr)
    else:
        print("conf/ is in order")
    return 2 if problems else 0
