"""`fork` on the command line: parent and fork side by side, and what was wrong with what was typed."""

import json


def test_parent_and_fork_stand_side_by_side(played, command):
    episode = json.loads(command("runs", "show", "last", "--episode", "1", "--json").stdout)
    key = episode["events"][2]["key"]
    done = command("fork", played.name, "--episode", "1", "--at", key)
    assert done.exit_code == 0, done.stderr
    assert "parent" in done.stdout
    assert f"fork of {played.name}, episode 1 at {key}" in done.stdout
    shown = json.loads(command("runs", "show", "last", "--json").stdout)
    assert (shown["status"], len(shown["episodes"])) == ("completed", 1)
    assert command("replay", "last").exit_code == 0


def test_what_cannot_be_forked_is_one_sentence_and_exit_code_2(played, command):
    for words, said in (
        (("--episode", "99", "--at", "0"), "has no episode 99"),
        (("--episode", "1", "--at", "nowhere"), "is no key"),
        (("--episode", "0", "--at", "0:aaw/1:agent/0", "--answer", "{"), "is no JSON"),
    ):
        done = command("fork", played.name, *words)
        assert done.exit_code == 2, words
        assert said in done.stderr
        assert "Traceback" not in done.stderr
