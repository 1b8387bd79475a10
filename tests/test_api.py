import deskgym


def test_the_public_names_are_these():
    assert deskgym.__all__ == [
        "Action", "Control", "Desk", "DeskgymError", "Environment", "Fixture", "InvalidParameter",
        "Observation", "Parameter", "Result", "Score", "Step", "Suite", "Task", "Tool", "Toolbox",
        "UnknownName", "UsageError", "call", "find_tasks", "load_suite", "make", "suite_names",
    ]  # fmt: skip


def test_every_public_name_is_there():
    assert all(getattr(deskgym, name) is not None for name in deskgym.__all__)
