import math

import numpy as np
import pytest

from benchmarks.verdicts import EFFECTS, NOISES, Ended, covers, share, simulated
from diagnose.verify.statistics import (
    LOOKS,
    Comparison,
    at_a_look,
    comparison,
    exceeds,
    falls_short,
    inliers,
    is_clear,
    t_quantile,
    verdict,
    verdict_on,
)

PRECISION = 0.02
LN = math.log(1.1)


def runs_of(differences):
    """A and B runs whose pairs differ by so much: ln(B ÷ A)."""
    return [100.0] * len(differences), list(100 * np.exp(differences))


def said(change, low, high, noise=0.0, pairs=8):
    return Comparison(
        pairs,
        0,
        change,
        low,
        high,
        noise,
        100.0,
        100 * (1 + change),
        (-100 * high, -100 * change, -100 * low),
    )


# ---- worked out by hand


@pytest.mark.parametrize(
    ("df", "level", "printed"),
    [
        (1, 0.975, 12.706),
        (2, 0.975, 4.303),
        (3, 0.975, 3.182),
        (3, 0.995, 5.841),
        (4, 0.95, 2.132),
        (7, 0.995, 3.499),
        (10, 0.9995, 4.587),
        (30, 0.975, 2.042),
        (31, 0.975, 2.040),
        (31, 0.995, 2.744),
        (120, 0.975, 1.980),
        (5, 0.5, 0.0),
    ],
)
def test_t_quantiles_are_those_of_printed_tables(df, level, printed):
    assert t_quantile(df, level) == pytest.approx(printed, abs=0.0005)


def test_a_duel_of_exact_numbers():
    a_ms = [100.0, 110.0, 90.0, 100.0]
    c = comparison(a_ms, [0.8 * one for one in a_ms])
    assert (c.pairs, c.outliers) == (4, 0)
    assert (c.change, c.low, c.high) == pytest.approx((-0.2, -0.2, -0.2))
    assert c.before_ms == pytest.approx((100 * 110 * 90 * 100) ** 0.25)
    assert c.after_ms == pytest.approx(0.8 * c.before_ms)
    # the step itself moved: by halves, √(100 × 110) to √(90 × 100)
    moved = math.sqrt(math.sqrt(110 / 90))
    assert c.drift == pytest.approx(math.sqrt(110 / 90) - 1)
    assert c.saved_ms == pytest.approx([0.2 * c.before_ms * way for way in (1 / moved, 1, moved)])


def test_runs_that_never_differ_are_faster_by_all_they_gain():
    c = comparison([100.0] * 4, [80.0] * 4)
    assert c.noise == 0
    assert verdict(c, PRECISION) == "faster"
    assert is_clear(c, PRECISION)


@pytest.mark.parametrize("pairs", LOOKS)
def test_steady_drift_cancels(pairs):
    first, second = np.exp(0.01 * np.arange(2 * pairs)).reshape(pairs, 2).T
    turned = np.arange(pairs) % 2 == 1
    assert comparison(
        np.where(turned, second, first), np.where(turned, first, second)
    ).change == pytest.approx(0, abs=1e-12)


def test_the_noise_floor_is_of_neighbouring_runs_of_the_same_arm():
    # B1 B2: ln 1.1; A2 A3: ln 1.21 = 2 ln 1.1; mean square 2.5 ln² 1.1; three pairs. First to last: 2 and 1
    # times ln 1.1, 1.5 on average.
    c = comparison([100, 100, 121], [100, 110, 110])
    assert c.drift == pytest.approx(math.expm1(1.5 * LN))
    assert c.noise == pytest.approx(math.expm1(LN * (4.30265 * math.sqrt(2.5 / 3) + 1.5 / 3)), rel=1e-5)


def test_the_noise_floor_holds_nothing_of_the_effect():
    same, halved = [100.0, 101.0, 99.0, 100.0], [50.0, 50.5, 49.5, 50.0]
    assert comparison(same, halved).noise == pytest.approx(comparison(same, same).noise)


def test_an_outlier_is_set_aside():
    # median 0.005, distances 0.025 0.015 0.005 0.005 0.015 0.495: MAD 0.015, limit 3.5 × 1.4826 × 0.015 =
    # 0.078
    differences = [-0.02, -0.01, 0.0, 0.01, 0.02, 0.5]
    assert inliers(np.array(differences)).tolist() == [True] * 5 + [False]
    c = comparison(*runs_of(differences))
    assert (c.pairs, c.outliers) == (5, 1)
    assert c.change == pytest.approx(0)


def test_what_lies_just_within_the_limit_is_kept():
    assert inliers(np.array([-0.02, -0.01, 0.0, 0.01, 0.02, 0.005 + 0.077])).all()
    assert not inliers(np.array([-0.02, -0.01, 0.0, 0.01, 0.02, 0.005 + 0.079])).all()


def test_no_outliers_of_fewer_than_six_pairs():
    assert inliers(np.array([-0.01, 0.0, 0.0, 0.01, 0.5])).all()


def test_at_most_a_fifth_is_set_aside_and_the_furthest_first():
    kept = inliers(np.array([-0.3, 0.0, 0.01, 0.5, 0.0, 0.01, -0.4, 0.01, 0.0, 0.01]))
    assert np.flatnonzero(~kept).tolist() == [3, 6]


def test_rounding_makes_no_outliers():
    assert inliers(np.log([0.8, 0.8, 0.8, 0.8, 0.8, 0.8 + 1e-15])).all()


def test_a_pair_set_aside_is_in_no_mean():
    c = comparison([100.0] * 5 + [1000.0], [90.0, 91.0, 89.0, 90.0, 90.5, 90.0])
    assert c.outliers == 1
    assert c.before_ms == pytest.approx(100)


# ---- what holds for every comparison


@pytest.fixture(params=[2, 4, 6, 12, 32])
def a_and_b(request):
    random = np.random.default_rng(request.param)
    return 100 * np.exp(0.02 * random.standard_normal((2, request.param))) * np.array([[1.0], [0.9]])


def test_the_interval_holds_the_change_and_all_pairs_are_counted(a_and_b):
    c = comparison(*a_and_b)
    assert c.low < c.change < c.high
    assert c.pairs + c.outliers == a_and_b.shape[1]
    assert c.before_ms - c.after_ms == pytest.approx(c.saved_ms[1])
    assert list(c.saved_ms) == sorted(c.saved_ms)


def test_arms_exchanged_are_the_mirror_image(a_and_b):
    a_ms, b_ms = a_and_b
    c, mirrored = comparison(a_ms, b_ms), comparison(b_ms, a_ms)
    assert [1 / (1 + one) - 1 for one in (mirrored.change, mirrored.high, mirrored.low)] == pytest.approx(
        [c.change, c.low, c.high]
    )


def test_the_unit_of_time_does_not_matter(a_and_b):
    ms, seconds = comparison(*a_and_b), comparison(*(a_and_b / 1000))
    assert [seconds.change, seconds.low, seconds.high, seconds.noise] == pytest.approx(
        [ms.change, ms.low, ms.high, ms.noise]
    )
    assert seconds.before_ms == pytest.approx(ms.before_ms / 1000)


def test_the_same_seed_says_the_same_and_another_nearly(a_and_b):
    assert comparison(*a_and_b) == comparison(*a_and_b)
    c, other = comparison(*a_and_b), comparison(*a_and_b, seed=1)
    assert other.change == c.change
    assert other.high - other.low == pytest.approx(c.high - c.low, rel=0.15)


@pytest.mark.parametrize("pairs", [4, 8, 32])
def test_the_interval_is_about_as_wide_as_students_for_normal_noise(pairs):
    differences = np.random.default_rng(0).standard_normal((200, pairs)) * 0.01
    ratios = []
    for one in differences[[bool(inliers(one).all()) for one in differences]]:
        c = comparison(*runs_of(one))
        student = t_quantile(pairs - 1, 1 - 0.025 / len(LOOKS)) * one.std(ddof=1) / math.sqrt(pairs)
        ratios.append((math.log1p(c.high) - math.log1p(c.low)) / 2 / student)
    assert np.mean(ratios) == pytest.approx(1, abs=0.03)


def test_times_far_apart_stay_finite():
    c = comparison([1e-300, 1e300], [1e300, 1e-300])
    assert math.isfinite(c.high) and c.low == -1


@pytest.mark.parametrize(
    ("a_ms", "b_ms"),
    [
        ([1.0, math.nan], [1.0, 1.0]),
        ([1.0, 1.0], [1.0, math.inf]),
        ([1.0, 0.0], [1.0, 1.0]),
        ([1.0, 1.0], [1.0, -1.0]),
        ([1.0, 1.0], [1.0, 1.0, 1.0]),
        ([1.0], [1.0]),
        ([], []),
    ],
)
def test_what_is_no_duel(a_ms, b_ms):
    with pytest.raises(ValueError, match=r"pairs|positive"):
        comparison(a_ms, b_ms)


# ---- words


@pytest.mark.parametrize(
    ("c", "word", "clear"),
    [
        (said(-0.20, -0.24, -0.16), "faster", True),  # known to ± a quarter of itself
        (said(-0.20, -0.27, -0.13), "faster", False),
        (said(-0.05, -0.068, -0.032), "faster", True),  # known to ± precision
        (said(-0.05, -0.075, -0.025), "faster", False),
        (said(-0.012, -0.016, -0.008), "faster", True),  # less than precision, but certain
        (said(0.05, 0.04, 0.06), "slower", True),
        (said(-0.05, -0.06, -0.04, noise=0.055), "too_noisy", False),  # runs of one arm differ as much
        # a change that hides in the noise is not known to be none
        (said(-0.05, -0.06, -0.04, noise=0.07), "too_noisy", False),
        (said(-0.01, -0.06, 0.04, noise=0.07), "no_change", False),  # beyond noise; more pairs may say more
        (said(-0.1, -0.4, 0.3, noise=0.9), "too_noisy", False),  # such a noise hides everything
        (said(-0.003, -0.004, -0.002), "no_change", True),  # certain, and nobody cares
        (said(0.0, -0.015, 0.015), "no_change", True),
        (said(0.0, -0.015, 0.025), "too_noisy", False),
        (said(-0.2, -0.5, 0.1), "too_noisy", False),
        (said(-0.2, -0.2, -0.2, pairs=3), "too_noisy", False),  # before the first look
    ],
)
def test_verdicts(c, word, clear):
    assert verdict(c, PRECISION) == word
    assert is_clear(c, PRECISION) == clear


@pytest.mark.parametrize(
    ("c", "predicted", "word"),
    [
        (said(-0.05, -0.15, 0.05), (0.20, 0.40), "no_such_gain"),
        (said(-0.05, -0.25, 0.05), (0.20, 0.40), "too_noisy"),  # as much may be gained
        (said(-0.05, -0.15, 0.05), None, "too_noisy"),
        (said(-0.05, -0.17, 0.07, noise=0.16), (0.20, 0.40), "too_noisy"),  # 17 % and 4 % of noise on top
        (said(-0.05, -0.06, -0.04), (0.20, 0.40), "faster"),  # less than predicted, but faster
        (said(0.05, 0.04, 0.06), (0.20, 0.40), "slower"),
        (said(0.0, -0.015, 0.015), (0.20, 0.40), "no_change"),
    ],
)
def test_an_interval_that_excludes_the_prediction_is_not_too_noisy(c, predicted, word):
    assert verdict_on(c, PRECISION, predicted, None) == word


def test_less_processor_time_is_a_verdict_of_its_own():
    unclear, less, same = said(-0.05, -0.3, 0.2), said(-0.20, -0.22, -0.18), said(0.0, -0.01, 0.01)
    assert verdict_on(unclear, PRECISION, None, less) == "less_work"
    assert verdict_on(unclear, PRECISION, (0.1, 0.2), less) == "less_work"
    assert verdict_on(unclear, PRECISION, (0.4, 0.6), less) == "no_such_gain"
    assert verdict_on(unclear, PRECISION, None, same) == "too_noisy"
    # what the clock says comes first
    assert verdict_on(said(0.05, 0.04, 0.06), PRECISION, None, less) == "slower"


def test_a_measured_gain_beside_the_predicted_one():
    assert falls_short(said(-0.05, -0.06, -0.04), (0.2, 0.4))
    assert exceeds(said(-0.5, -0.55, -0.45), (0.2, 0.4))
    assert not exceeds(said(-0.5, -0.55, -0.35), (0.2, 0.4))


def test_a_precision_finer_than_the_least_effect_still_ends():
    c = said(-0.003, -0.004, -0.002)
    assert verdict(c, 0.001) == "no_change"
    assert is_clear(c, 0.001)


# ---- simulated comparisons: planted changes, all looks, every kind of noise; the shares for each kind
# are in benchmarks/verdicts.py


COMPARISONS = 170  # of each kind of noise: about 1,000 of each effect
MOST_WRONG = 0.05


@pytest.fixture(
    scope="module", params=[pytest.param(32, marks=pytest.mark.long), 8], ids="up to {} pairs".format
)
def ended(request) -> dict[float, list[Ended]]:
    kinds = list(enumerate(NOISES.values()))
    return {
        effect: [
            one for seed, noise in kinds for one in simulated(effect, noise, COMPARISONS, request.param, seed)
        ]
        for effect in EFFECTS
    }


@pytest.mark.parametrize("word", ["faster", "slower"])
def test_a_fix_that_does_nothing_is_seldom_said_to_do_something(ended, word):
    assert share(ended[0.0], lambda one: one.verdict == word) <= MOST_WRONG / 2


@pytest.mark.parametrize("effect", EFFECTS)
def test_the_interval_covers_what_was_planted(ended, effect):
    assert share(ended[effect], lambda one: covers(one, effect)) >= 0.95


@pytest.mark.parametrize("effect", [one for one in EFFECTS if one])
def test_an_effect_is_never_taken_for_its_opposite(ended, effect):
    opposite = "slower" if effect < 0 else "faster"
    assert not any(one.verdict == opposite for one in ended[effect])


@pytest.mark.parametrize("effect", [-0.05, -0.20, 0.05])
def test_an_effect_above_precision_is_seldom_called_none(ended, effect):
    assert share(ended[effect], lambda one: one.verdict == "no_change") <= MOST_WRONG / 2


def test_a_fifth_faster_is_found_within_8_pairs(ended):
    assert share(ended[-0.20], lambda one: one.verdict == "faster") >= 0.98


@pytest.mark.parametrize(("effect", "least"), [(-0.20, 0.99), (-0.05, 0.98), (-0.02, 0.90)])
@pytest.mark.parametrize("noise", ["1 %", "1 %, drift", "1 %, heavy tails"])
def test_effects_are_found_at_a_sigma_of_1_percent(effect, least, noise):
    assert share(list(simulated(effect, NOISES[noise], 300)), lambda one: one.verdict == "faster") >= least


@pytest.mark.parametrize("noise", NOISES)
def test_a_fifth_faster_is_found_in_every_noise(noise):
    assert share(list(simulated(-0.20, NOISES[noise], 200)), lambda one: one.verdict == "faster") >= 0.99


@pytest.mark.parametrize(
    ("noise", "least"), [("1 %", 0.95), ("1 %, drift", 0.95), ("2 %", 0.6), ("1.5 %, drift, bursts", 0.5)]
)
def test_most_duels_without_an_effect_end_with_no_change(noise, least):
    assert share(list(simulated(0.0, NOISES[noise], 300)), lambda one: one.verdict == "no_change") >= least


def test_forty_duels_of_a_script_against_itself():
    kinds = list(NOISES.values())
    ended = [
        one for seed in range(40) for one in simulated(0.0, kinds[seed % len(kinds)], 1, seed=1000 + seed)
    ]
    assert share(ended, lambda one: one.verdict in ("faster", "slower")) <= MOST_WRONG


def test_a_large_effect_needs_few_pairs():
    assert np.mean([one.pairs for one in simulated(-0.20, NOISES["1 %, drift"], 100)]) < 6


def test_only_the_pairs_of_a_look_are_compared():
    assert [at_a_look(pairs) for pairs in (2, 3, 4, 5, 7, 9, 31, 32, 40)] == [2, 3, 4, 4, 6, 8, 24, 32, 32]


def test_nothing_is_faster_before_the_first_look():
    """Half the time without any noise."""
    assert verdict(comparison([10.0, 10.0, 10.0], [5.0, 5.0, 5.0]), PRECISION) == "too_noisy"
    assert verdict(comparison([10.0] * 4, [5.0] * 4), PRECISION) == "faster"
