"""The log tells the phase, which never goes back, and the words that explain an end."""

from worldloom.models.serving.log import Follow, last_words

# As vLLM 0.32 writes them.
LOADS = "(Worker pid=4739) INFO 11-30 15:23:39 [cpu_model_runner.py:68] Starting to load model /m...\n"
COMPILES = (
    "(Worker pid=4739) INFO 11-30 15:23:42 [cpu_model_runner.py:87] Warming up model for the compilation...\n"
)
PYDANTIC = """\
(APIServer pid=1) Traceback (most recent call last):
(APIServer pid=1)   File "/v/serve.py", line 3, in main
(APIServer pid=1)     raise
(APIServer pid=1) pydantic_core._pydantic_core.ValidationError: 1 validation error for ModelConfig
(APIServer pid=1)   Value error, max_model_len (9000) is greater than 8192
"""


def test_phases_follow_the_log_and_never_go_back(tmp_path):
    log = tmp_path / "log"
    log.write_text("hello\n")
    follow = Follow(log)
    seen = [follow.look()]
    for text in (LOADS, COMPILES, LOADS, "done\n"):
        with log.open("a") as file:
            file.write(text)
        seen.append(follow.look())
    assert seen == ["starting", "loading weights", "compiling", "compiling", "compiling"]


def test_an_exception_is_told_with_the_lines_that_belong_to_it(tmp_path):
    log = tmp_path / "log"
    log.write_text(PYDANTIC + "INFO:     Application shutdown complete.\n")
    assert last_words(log, ()) == [
        "pydantic_core._pydantic_core.ValidationError: 1 validation error for ModelConfig",
        "  Value error, max_model_len (9000) is greater than 8192",
    ]


def test_without_an_exception_the_end_is_told_from_where_this_server_began(tmp_path):
    log = tmp_path / "log"
    old = "ValueError: of the server before\n"
    log.write_text(
        old + "".join(f"(Worker pid=9) INFO 11-30 15:23:39 [x.py:1] line {n}\n" for n in range(20))
    )
    assert last_words(log, (), len(old)) == [f"line {n}" for n in range(14, 20)]


def test_keys_are_taken_out(tmp_path):
    log = tmp_path / "log"
    log.write_text("RuntimeError: key hf_abcdefghij, token 12345678-known\n")
    assert last_words(log, ["12345678-known"]) == ["RuntimeError: key [key], token [key]"]
