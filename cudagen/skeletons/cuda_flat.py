from nessie.cudagen.plan import Plan
from nessie.cudagen.thunks import Tables
from nessie.cudagen.walk import Walk


def plan_cuda(walk: Walk, tables: Tables) -> Plan:
    raise NotImplementedError
