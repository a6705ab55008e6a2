"""`replay`: 0 if all is reproduced, 1 and the first key that differs if not."""

import contextlib
import json
import sqlite3


def test_a_run_is_reproduced(played, command):
    done = command("replay", "last")
    assert (done.exit_code, done.stdout) == (
        0,
        f"2 of 2 episodes reproduced byte for byte: runs/{played.name}\n",
    )
    assert json.loads(command("replay", "last", "--json").stdout) == {
        "run": str(played),
        "replayed": 2,
        "reproduced": 2,
        "findings": [],
        "changed_since": [],
        "verified": None,
    }


def test_a_changed_record_is_found_with_its_first_key(played, command):
    record = sqlite3.connect(played / "run.sqlite")
    key, data = record.execute(
        "SELECT key, data FROM events WHERE episode = 1 AND type = 'stepped.1' ORDER BY key LIMIT 1"
    ).fetchone()
    changed = data.replace(b'"success":true', b'"success":false')
    assert changed != data
    record.execute("UPDATE events SET data = ? WHERE episode = 1 AND key = ?", (changed, key))
    record.commit()
    record.close()
    done = command("replay", "last")
    assert done.exit_code == 1
    for text in ("print-handouts, careful, seed 0", "diverges at key", '"success":false', '"success":true'):
        assert text in done.stdout
    assert "1 of 2 episodes not reproduced" in done.stdout
    assert "what follows from earlier events has changed" in done.stdout
    assert "Neither code nor versions have changed since the run was made" in done.stdout
    findings = json.loads(command("replay", "last", "--json").stdout)["findings"]
    assert [(one["episode"], one["scenario"]) for one in findings] == [(1, "print-handouts")]
    assert "diverges at key" in findings[0]["problem"]


def test_a_run_in_which_nothing_has_ended_has_nothing_to_replay(played, command):
    record = sqlite3.connect(played / "run.sqlite")
    record.execute("UPDATE episodes SET status = 'planned'")
    record.commit()
    record.close()
    done = command("replay", "last")
    assert done.exit_code == 0
    assert "Nothing to replay" in done.stdout


def test_what_has_changed_since_is_named_where_a_replay_differs(played, command):
    with contextlib.closing(sqlite3.connect(played / "run.sqlite")) as record, record:
        for name, value in (("numpy", "1.0"), ("machine", "Plan 9 mips")):
            record.execute(
                "UPDATE run SET value = json_set(value, ?, ?) WHERE name = 'manifest'",
                (f"$.made_with.{name}", value),
            )
    assert "changed" not in command("replay", "last").stdout, "it is reproduced all the same"
    with contextlib.closing(sqlite3.connect(played / "run.sqlite")) as record, record:
        record.execute("DELETE FROM events WHERE episode = 1 AND type = 'stepped.1'")
    told = command("replay", "last")
    assert told.exit_code == 1
    assert "the program goes on where the record ends" in told.stdout
    assert "Since the run was made these have changed:\n  numpy: 1.0 → " in told.stdout
    assert "\n  machine: Plan 9 mips → " in told.stdout
    assert len(json.loads(command("replay", "last", "--json").stdout)["changed_since"]) == 2


def test_models_are_asked_again_if_that_is_wanted(project, command, serve, careful):
    server = serve(careful)
    model = ("--model", "hosted_vllm/m", "--base-url", server.url)
    assert command("run", "scenarios", *model).exit_code == 0
    server.said, before = [*careful[:-1], "what?"], server.chats
    done = command("replay", "last", "--verify-effects")
    assert done.exit_code == 0, "what is said now decides nothing"
    assert "3 of 3 episodes reproduced byte for byte" in done.stdout
    assert "model agent" in done.stdout
    (verified,) = json.loads(command("replay", "last", "--verify-effects", "--json").stdout)["verified"]
    assert (verified["what"], verified["same"]["value"], verified["same"]["n"]) == ("model agent", 0.75, 4)
    assert server.chats > before
    server.names = ("another",)
    assert command("replay", "last").exit_code == 0


def test_what_has_changed_is_told_of_the_episodes_that_differ(played, command):
    with contextlib.closing(sqlite3.connect(played / "run.sqlite")) as record, record:
        (manifest,) = record.execute("SELECT value FROM run WHERE name = 'manifest'").fetchone()
        now = {name: json.loads(manifest)[name] for name in ("made_with", "model_ids")}
        record.execute("INSERT INTO run VALUES ('resumed', ?)", (json.dumps([now]),))
        record.execute(
            "UPDATE run SET value = json_set(value, '$.made_with.numpy', '1.0') WHERE name = 'manifest'"
        )
        record.execute("UPDATE episodes SET making = 1 WHERE row = 0")
        record.execute("DELETE FROM events WHERE episode = 1 AND type = 'stepped.1'")
    told = command("replay", "last")
    assert told.exit_code == 1
    assert "Since the run was made these have changed:\n  numpy: 1.0 → " in told.stdout
