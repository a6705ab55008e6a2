"""inspect-ai's side of resume.py and summary.py, run with the Python that has it: a large log, and its retry.

The log is made as copied_run.py makes a run: one sample of some 90 events is played on mockllm, and copied. The retry
ends with the first thing that it does, when the first sample that is not in the log begins.
"""

import os
import sys
from pathlib import Path
from typing import Any

import inspect_ai as ai
from inspect_ai import dataset, model, scorer, solver
from inspect_ai.log import write_eval_log

TURNS = 45
RETRYING = "BENCHMARK_RETRYING"
BEGUN = 42
"""Exit status of a retry whose first sample has begun."""


@solver.solver
def turns() -> Any:
    """Asks again and again; in a retry, ends the process, which is over as soon as a sample begins."""

    async def solve(state: Any, generate: Any) -> Any:
        if RETRYING in os.environ:
            os._exit(BEGUN)
        for _ in range(TURNS):
            state = await generate(state)
        return state

    return solve


@ai.task
def evening(samples: int) -> ai.Task:
    """So many samples."""
    asked = [dataset.Sample("Get the flat ready.", target="done", id=number + 1) for number in range(samples)]
    return ai.Task(dataset=asked, solver=turns(), scorer=scorer.includes())


def answer(messages: Any, tools: Any, choice: Any, config: Any) -> Any:
    """What mockllm says, with its length in tokens, for which it would else download a tokenizer."""
    output = model.ModelOutput.from_content("mockllm/model", "done")
    output.usage = model.ModelUsage(input_tokens=200, output_tokens=12, total_tokens=212)
    return output


def make(log: Path, samples: int, ended: int) -> None:
    """Write a log of so many samples, which holds those that have ended; print how many events it has."""
    mock = model.get_model("mockllm/model", custom_outputs=answer)
    (whole,) = ai.eval(
        evening(samples), model=mock, limit=1, display="none", log_dir=str(log.parent / "played")
    )
    assert whole.status == "success", whole.error
    (sample,) = whole.samples or ()
    whole.samples = [sample.model_copy(update={"id": i + 1, "uuid": f"copy-{i}"}) for i in range(ended)]
    whole.eval.dataset.samples, whole.eval.dataset.sample_ids = samples, list(range(1, samples + 1))
    whole.eval.config.limit, whole.status = None, "success" if ended == samples else "cancelled"
    write_eval_log(whole, str(log))
    print(ended * len(sample.events))


if __name__ == "__main__":
    if sys.argv[1] == "make":
        make(Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
    else:
        os.environ[RETRYING] = "1"
        ai.eval_retry(sys.argv[2], display="none", log_dir=str(Path(sys.argv[2]).parent / "retried"))
