import deskgym


def test_the_public_names_are_these():
    assert deskgym.__all__ == [
        "Action", "AnyEnvironment", "AsyncClient", "Cents", "Client", "Control", "Desk",
        "DeskgymError", "Environment", "Fixture", "Id", "InvalidDefinition", "InvalidParameter",
        "Observation", "Panel", "Parameter", "Refusal", "Result", "Score", "Step", "Suite",
        "Task", "Template", "Text", "Tool", "Toolbox", "UnknownName", "UsageError", "call",
        "find_tasks", "load_suite", "make", "suite_names", "tasks_in",
    ]  # fmt: skip


def test_every_public_name_is_there():
    assert all(getattr(deskgym, name) is not None for name in deskgym.__all__)
