"""The sixteen tools: eight read, seven act, and submit."""

from deskgym.suites.backoffice.tools.act import (
    cancel_order,
    create_purchase_order,
    create_replacement,
    issue_refund,
    reply_to_thread,
    set_thread_status,
    update_shipping_address,
)
from deskgym.suites.backoffice.tools.read import (
    check_inventory,
    get_customer,
    get_order,
    list_inbox,
    list_purchase_orders,
    read_policy,
    read_thread,
    search_orders,
)
from deskgym.suites.backoffice.tools.submit import submit
from deskgym.tool import Toolbox

TOOLBOX = Toolbox(
    read_policy,
    list_inbox,
    read_thread,
    get_order,
    search_orders,
    get_customer,
    check_inventory,
    list_purchase_orders,
    issue_refund,
    create_replacement,
    cancel_order,
    update_shipping_address,
    create_purchase_order,
    reply_to_thread,
    set_thread_status,
    submit,
)
