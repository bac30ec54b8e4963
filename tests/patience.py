"""How long a test waits before it calls something hung: far longer than anything takes, however busy the machine is."""

PATIENCE = 180  # seconds
FOREVER = 3600  # seconds that a process sleeps which a test ends; nobody waits for it
