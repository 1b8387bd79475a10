"""A suite of its own: a desk that takes returns."""

from deskgym import Suite, Toolbox, tasks_in
from returns_desk import tasks
from returns_desk.rubric import V1
from returns_desk.tools import find_order, finish, open_return

suite = Suite(
    name="returns-desk",
    title="Returns: one decision, read before it is made",
    instructions="You work at the returns desk of a shop, for the customer who is signed in.\n"
    "Look the order up first. An item can be returned within the window after its delivery; "
    "after that, nothing is opened.\nFinish with what is the case.",
    toolbox=Toolbox(find_order, open_return, finish),
    rubrics=(V1,),
    tasks=tasks_in(tasks),
    steps_max=12,
)
