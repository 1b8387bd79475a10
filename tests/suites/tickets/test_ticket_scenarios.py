"""The texts and the words of the scenarios."""

from collections import Counter
from itertools import chain

import pytest

from deskgym.errors import UnknownName
from deskgym.rubric.language import words
from deskgym.suites.tickets.catalogue import SCENARIOS, others, scenario
from deskgym.suites.tickets.scenario import CATEGORIES, Scenario

EVERY = pytest.mark.parametrize("one", SCENARIOS, ids=lambda s: s.name)


def texts(one: Scenario) -> list[str]:
    return list(
        chain.from_iterable((w.opening, w.follow_up, w.acknowledgement) for w in one.wordings)
    )


def test_there_are_three_scenarios_in_each_of_five_categories() -> None:
    assert Counter(s.category for s in SCENARIOS) == dict.fromkeys(CATEGORIES, 3)
    assert len({s.name for s in SCENARIOS}) == 15


def test_a_scenario_is_found_by_name_and_an_unknown_one_names_those_there_are() -> None:
    assert scenario("wrong_door").category == "shipping"
    with pytest.raises(UnknownName, match=r"no scenario 'nope'.*wrong_door"):
        scenario("nope")


def test_the_others_of_a_category_are_the_twelve_of_the_rest() -> None:
    assert len(others("billing")) == 12
    assert "billing" not in {s.category for s in others("billing")}


@EVERY
def test_each_scenario_has_three_wordings_which_differ(one: Scenario) -> None:
    assert len(one.wordings) == 3
    assert len(set(texts(one))) == 3 * len(one.wordings)


@EVERY
def test_no_customer_text_names_a_category(one: Scenario) -> None:
    for text in texts(one):
        assert not set(words(text)) & set(CATEGORIES), text


@EVERY
def test_each_scenario_has_more_than_four_keywords_and_their_forms_are_apart(
    one: Scenario,
) -> None:
    assert len(one.keywords) > 4
    forms = [words(form) for keyword in one.keywords for form in keyword.forms]
    assert len(forms) == len(set(forms))


def test_a_form_belongs_to_one_keyword_and_a_name_to_one_set_of_forms() -> None:
    owner: dict[tuple[str, ...], tuple[str, ...]] = {}
    for keyword in chain.from_iterable((*s.keywords, *s.fair) for s in SCENARIOS):
        for form in keyword.forms:
            assert owner.setdefault(words(form), keyword.forms) == keyword.forms, form


def test_a_synonym_means_one_category() -> None:
    owner: dict[str, str] = {}
    for one in SCENARIOS:
        for synonym in one.synonyms:
            assert owner.setdefault(synonym, one.category) == one.category, synonym


@EVERY
def test_what_is_fair_belongs_to_another_scenario_and_is_not_a_keyword_here(
    one: Scenario,
) -> None:
    elsewhere = {k for s in SCENARIOS if s is not one for k in s.keywords}
    assert set(one.fair) <= elsewhere - set(one.keywords)


def test_no_keyword_is_shared_between_categories() -> None:
    """One that were would earn on both with one text."""
    owners: dict[str, set[str]] = {}
    for one in SCENARIOS:
        for keyword in one.keywords:
            owners.setdefault(keyword.name, set()).add(one.category)
    assert {name: found for name, found in owners.items() if len(found) > 1} == {}
