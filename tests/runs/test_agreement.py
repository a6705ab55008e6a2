"""Agreement: against tables computed by hand, closed forms, and judges whose faults are known."""

import random

import pytest

from worldloom.runs.agreement import (
    OUTCOMES,
    Verdict,
    agree,
    corrected,
    judged_score,
    outcome_of,
    passed,
    wilson,
)


def table(tp, fn, fp, tn, *, scenarios=20, others=()):
    """Verdicts with these counts, dealt out over scenarios."""
    cells = [("met", True)] * tp + [("not_met", True)] * fn + [("met", False)] * fp
    cells += [("not_met", False)] * tn + [(outcome, True) for outcome in others]
    random.Random(0).shuffle(cells)
    return [Verdict(f"s{number % scenarios}", *cell) for number, cell in enumerate(cells)]


def noisy(n, sensitivity, specificity, rate, *, seed, scenarios=40, known=True):
    """A judge that errs by chance."""
    rng = random.Random(seed)
    found = []
    for number in range(n):
        truth = rng.random() < rate
        right = rng.random() < (sensitivity if truth else specificity)
        outcome = "met" if truth == right else "not_met"
        found.append(Verdict(f"s{number % scenarios}", outcome, truth if known else None))
    return found


def test_a_table_computed_by_hand():
    found = agree(table(40, 10, 5, 45))
    assert (found.asked, found.judged, found.scenarios) == (100, 100, 20)
    assert found.agreement.value == pytest.approx(0.85)
    # Chance: 45 x 50 + 55 x 50 over 100 squared is 0.5; (0.85 - 0.5) / 0.5.
    assert found.kappa.value == pytest.approx(0.70)
    assert found.sensitivity.value == pytest.approx(0.8)
    assert found.specificity.value == pytest.approx(0.9)
    assert found.pass_rate.value == pytest.approx(0.45)
    assert found.true_rate.value == pytest.approx(0.5)
    assert (found.sensitivity.n, found.specificity.n, found.agreement.n) == (50, 50, 100)


def test_the_table_of_the_textbooks():
    """20 yes/yes, 5 yes/no, 10 no/yes, 15 no/no have kappa 0.4."""
    assert agree(table(20, 10, 5, 15)).kappa.value == pytest.approx(0.4)


def test_what_came_without_a_verdict_is_counted_apart():
    others = ["unparseable"] * 4 + ["order"] * 3 + ["cannot_tell"] * 2 + ["failed"]
    found = agree(table(40, 10, 5, 35, others=others))
    assert (found.asked, found.judged) == (100, 90)
    rates = (found.unparseable, found.order, found.cannot_tell, found.failed)
    assert [rate.value for rate in rates] == pytest.approx([0.04, 0.03, 0.02, 0.01])
    assert all(rate.n == 100 for rate in rates)
    assert found.agreement.value == pytest.approx(75 / 90)


def test_every_interval_holds_its_value():
    found = agree(table(40, 10, 5, 35, others=["unparseable"] * 10))
    for name in ("agreement", "kappa", "sensitivity", "specificity", "unparseable", "order", "pass_rate"):
        measure = getattr(found, name)
        assert measure.low <= measure.value <= measure.high, name


def test_the_wilson_interval_is_that_of_the_textbook():
    assert wilson(8, 10) == pytest.approx((0.4902, 0.9433), abs=1e-4)
    assert wilson(0, 10) == pytest.approx((0.0, 0.2775), abs=1e-4)
    assert wilson(10, 10) == pytest.approx((0.7225, 1.0), abs=1e-4)


def test_a_judge_without_a_fault_is_not_taken_to_be_infallible():
    found = agree(table(200, 0, 0, 200, scenarios=10))
    assert (found.agreement.value, found.kappa.value) == (1.0, 1.0)
    assert (found.agreement.low, found.agreement.high) == pytest.approx(wilson(10, 10))
    assert (found.kappa.low, found.kappa.high) == (None, None)
    assert found.kappa.why


def test_kappa_is_not_defined_where_all_passed_or_all_failed():
    all_passed, all_failed = agree(table(30, 10, 0, 0)), agree(table(0, 0, 10, 30))
    assert (all_passed.kappa.value, all_failed.kappa.value) == (None, None)
    assert "all criteria of the sample passed" in all_passed.kappa.why
    assert "all criteria of the sample failed" in all_failed.kappa.why
    assert all_passed.specificity.why == "no criterion failed in truth"
    assert all_failed.sensitivity.why == "no criterion passed in truth"
    assert all_passed.sensitivity.value == pytest.approx(0.75)


def test_one_scenario_gives_no_interval_and_says_why():
    found = agree(table(40, 10, 5, 45, scenarios=1))
    assert found.agreement.value == pytest.approx(0.85)
    assert found.agreement.low is None
    assert "one scenario" in found.agreement.why


def test_nothing_gives_nothing():
    found = agree([])
    assert (found.asked, found.judged, found.scenarios) == (0, 0, 0)
    assert found.agreement.value is None
    assert found.unparseable.value is None
    assert passed([]).why == corrected([], []).why == "the judge gave no verdict"
    silent = agree(table(0, 0, 0, 0, others=["failed"] * 8))
    assert (silent.asked, silent.judged, silent.failed.value) == (8, 0, 1.0)
    assert silent.kappa.value is None


def test_the_correction_of_a_sample_by_itself_is_its_true_rate():
    for counts in ((40, 10, 5, 45), (10, 30, 2, 20), (60, 1, 9, 30)):
        sample = table(*counts)
        assert corrected(sample, sample).value == pytest.approx(agree(sample).true_rate.value)


def test_the_correction_is_the_formula_of_rogan_and_gladen():
    calibration = table(80, 20, 10, 90)  # sensitivity 0.8, specificity 0.9
    seen = [Verdict(f"t{n % 25}", "met" if n < 45 else "not_met") for n in range(100)]
    assert corrected(seen, calibration).value == pytest.approx((0.45 + 0.9 - 1) / (0.8 + 0.9 - 1))


@pytest.mark.parametrize(("share", "value"), [(0.02, 0.0), (0.99, 1.0)])
def test_the_correction_stays_a_share(share, value):
    calibration = table(80, 20, 10, 90)
    seen = [Verdict(f"t{n % 25}", "met" if n < share * 100 else "not_met") for n in range(100)]
    found = corrected(seen, calibration)
    assert found.value == value
    assert 0.0 <= found.low <= found.high <= 1.0


@pytest.mark.parametrize("counts", [(50, 50, 50, 50), (20, 80, 70, 30), (100, 0, 100, 0)])
def test_a_judge_no_better_than_chance_corrects_nothing(counts):
    found = corrected(noisy(100, 0.9, 0.9, 0.5, seed=1, known=False), table(*counts))
    assert found.value is None
    assert "no better than chance" in found.why


@pytest.mark.parametrize(("counts", "word"), [((40, 10, 0, 0), "failed"), ((0, 0, 10, 40), "passed")])
def test_a_calibration_of_one_kind_corrects_nothing(counts, word):
    found = corrected(table(30, 0, 0, 30), table(*counts))
    assert found.value is None
    assert found.why == f"cannot be corrected: no criterion of the calibration {word}"


@pytest.mark.parametrize("seed", range(6))
def test_the_faults_of_a_noisy_judge_are_found_and_taken_out(seed):
    calibration = noisy(400, 0.85, 0.7, 0.5, seed=seed)
    known = agree(calibration)
    # 95 % intervals of 6 seeds x 3: one may miss; by a little, or the interval is wrong.
    slack = 0.02
    assert known.sensitivity.low - slack <= 0.85 <= known.sensitivity.high + slack
    assert known.specificity.low - slack <= 0.7 <= known.specificity.high + slack
    seen = noisy(400, 0.85, 0.7, 0.3, seed=100 + seed, known=False)
    found = corrected(seen, calibration)
    assert found.low - slack <= 0.3 <= found.high + slack
    assert passed(seen).value > 0.4, "uncorrected, it is far off"


@pytest.mark.slow
def test_intervals_of_noisy_judges_hold_the_truth_about_as_often_as_they_say():
    held = 0
    for seed in range(60):
        measure = agree(noisy(200, 0.8, 0.75, 0.5, seed=seed)).sensitivity
        held += measure.low <= 0.8 <= measure.high
    assert held >= 51  # 57 are expected; 50 or fewer come once in 200 times


def test_a_weak_calibration_leaves_the_correction_open():
    """Barely better than chance: many resamples are not, and each leaves everything from 0 to 1 open."""
    found = corrected(noisy(200, 0.6, 0.5, 0.5, seed=3, known=False), table(11, 9, 9, 11, scenarios=10))
    assert (found.low, found.high) == (0.0, 1.0)


def test_failures_that_all_come_from_one_scenario_leave_the_correction_open():
    """A third of the resamples holds none of them, and says nothing of specificity."""
    calibration = [Verdict(f"s{n % 4}", "met", True) for n in range(40)]
    calibration += [Verdict("s4", "not_met", False)] * 10
    seen = [Verdict(f"t{n % 20}", "met" if n % 2 else "not_met") for n in range(400)]
    found = corrected(seen, calibration)
    assert found.value == pytest.approx(0.5)
    assert (found.low, found.high) == (0.0, 1.0)


def test_the_same_sample_gives_the_same_numbers_whatever_its_order():
    sample = noisy(100, 0.8, 0.8, 0.5, seed=9)
    mixed = list(sample)
    random.Random(1).shuffle(mixed)
    assert agree(sample) == agree(mixed)
    assert corrected(sample, sample) == corrected(mixed, mixed)


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_what_a_judge_said_can_be_read_from_its_score(outcome):
    score = judged_score("It is off.", outcome, "x" * 9_000)
    assert outcome_of(score) == outcome
    assert len(score.detail) < 600
    assert (score.value is None) == (outcome not in ("met", "not_met"))
    assert score.how == ("unscored" if score.value is None else "judge")


def test_a_reasoning_cannot_pass_for_another_outcome():
    failed = judged_score("It is off.", "not_met", "judge: did not answer")
    assert outcome_of(failed) == "not_met"
    assert outcome_of(judged_score("It is off.", "unparseable", "judge: cannot tell")) == "unparseable"


def test_what_was_computed_was_not_judged():
    from worldloom.runs.rows import Score

    for how, value in (("check", 1.0), ("idiom", 0.0), ("unscored", None)):
        assert (
            outcome_of(Score("It is off.", value, 1, "criterion", how, "`pass_condition` is prose")) is None
        )
