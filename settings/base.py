"""What holds in every environment, unless its own file or `SYNERGY_<NAME>` says otherwise.

Relative paths begin at the project's folder. `<home>` and `<hostname>` are filled in.
"""

HOME = "var"  # store, logs, pid files
STORE = "sqlite:///<home>/synergy.db"
BUS = "store:"  # messages are kept in the store
BOX_ID = "dev-<hostname>"  # who this machine is; `present_on_boxes` are matched against it
CONTEXT = "context"  # the module that declares the deployment
START_TIMEPERIOD = None  # first hour of the timetable; None: 48 hours before the first start
MX_HOST = "127.0.0.1"
MX_PORT = 5000
MX_USERS_FILE = None  # who may log in; needed for any host that is not loopback
MX_NAMES = ""  # names by which MX is called besides this machine's: "synergy.example.com, ops"
MX_CERTIFICATE = None  # for TLS: the chain of certificates, and below the key; both, or none
MX_KEY = None
DEMO_STREAM = "off"  # whether made-up visits come in
RETENTION = ""  # how long rows are kept, where not by default: "journal=60d, answers=12h"
SCHEDULES_UPDATE = "create"  # schedules of the context: "create" missing ones, or "sync" all
WEBHOOK_NETWORKS = ""  # private networks that webhooks may reach: "10.1.0.0/16, fd00::/8"
WEBHOOK_SECRETS = ""  # to sign webhooks with: one, or "NEW,OLD"; better given in the environment
CLOCK = ""  # for tests only: an instant at which time stands still
