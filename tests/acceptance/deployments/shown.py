"""The illustration and three trees with typical problems, for tests of pages that show them.

Invoices of some hours always fail; refunds are switched off; the balance waits for both. A late
order only marks the invoices of its hour as stale.
"""

import context as suite
from synergy.config.context import (
    BLOCKING_CHILDREN,
    BLOCKING_DEPENDENCIES,
    QUALIFIER_DAILY,
    QUALIFIER_HOURLY,
    freerun_context_entry,
    managed_context_entry,
    timetable_tree_entry,
)

EVERY_BOX = [".*"]
ORDERS = "orders"
_INVOICES = """
case $$0 in
    *[58]14) echo "ledger: the rates of $$0 are missing" >&2; exit 3;;
    *) echo "$$0: invoices written";;
esac
"""
_IMPORT = 'echo "importing $$0 for $$1"; echo "120 customers read, 3 new"'


def a_program(name, qualifier, **fields):
    given = {
        "command": ["true"],
        "trigger_frequency": "every 60",
        "settle": "0s",
        "retry_backoff": "1s",
        "present_on_boxes": EVERY_BOX,
    }
    return managed_context_entry(process_name=name, time_qualifier=qualifier, **{**given, **fields})


process_context = {
    **suite.process_context,
    "InvoiceHourly": a_program(
        "InvoiceHourly",
        QUALIFIER_HOURLY,
        command=["sh", "-c", _INVOICES, "${timeperiod}"],
        source=ORDERS,
        late_data="mark",
        max_active=24,
        max_attempts=100,
        retry_backoff="10m",
    ),
    "InvoiceDaily": a_program("InvoiceDaily", QUALIFIER_DAILY, blocking_type=BLOCKING_CHILDREN),
    "RefundHourly": a_program("RefundHourly", QUALIFIER_HOURLY, is_on=False),
    "RefundDaily": a_program("RefundDaily", QUALIFIER_DAILY, blocking_type=BLOCKING_CHILDREN),
    "BalanceDaily": a_program("BalanceDaily", QUALIFIER_DAILY, blocking_type=BLOCKING_DEPENDENCIES),
    "CustomerImport": freerun_context_entry(
        process_name="CustomerImport",
        command=["sh", "-c", _IMPORT, "${folder}", "${timeperiod}"],
        arguments={"folder": "/data/customers"},
        present_on_boxes=EVERY_BOX,
    ),
}
timetable_context = {
    **suite.timetable_context,
    "invoices": timetable_tree_entry(
        tree_name="invoices",
        enclosed_processes=["InvoiceDaily", "InvoiceHourly"],
        dependent_on=[],
        mx_page="billing",
    ),
    "refunds": timetable_tree_entry(
        tree_name="refunds",
        enclosed_processes=["RefundDaily", "RefundHourly"],
        dependent_on=[],
        mx_page="billing",
    ),
    "balance": timetable_tree_entry(
        tree_name="balance",
        enclosed_processes=["BalanceDaily"],
        dependent_on=["invoices", "refunds"],
        mx_page="billing",
    ),
}
schedule_context = suite.schedule_context
