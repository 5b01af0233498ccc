"""Plans are read strictly: a typo is answered, a sum is checked."""

import pytest
from pairs_to_words.project.errors import UserError
from pairs_to_words.sampling.plan import check_total, parse_plan


def test_the_default_plan_is_twelve_branches() -> None:
    plan = parse_plan("visual=2,species=2,genus=2,family=2,order=2,class=2")
    assert plan.total == 12
    assert plan.words() == "visual=2,species=2,genus=2,family=2,order=2,class=2"


def test_level_numbers_are_aliases_and_order_does_not_matter() -> None:
    assert parse_plan("5=1, 1=3") == parse_plan("species=3,class=1")


def test_a_plan_without_visual_neighbours_needs_none() -> None:
    assert parse_plan("genus=4").visual == 0
    assert parse_plan("genus=4,visual=0").words() == "genus=4"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("genus=2,tribe=1", "no level 'tribe'"),
        ("genus", "count ''"),
        ("genus=-1", "count '-1'"),
        ("genus=1,2=1", "genus is given twice"),
        ("genus=0", "no branches"),
        ("", "no level ''"),
    ],
)
def test_a_wrong_plan_is_explained(text: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        parse_plan(text)


def test_k_must_be_the_sum_and_the_sum_is_shown() -> None:
    with pytest.raises(UserError, match=r"makes 3\..*--k 3"):
        check_total(parse_plan("genus=2,visual=1"), 12)
