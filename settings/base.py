"""Settings of every environment; its own file, and then `SYNERGY_<NAME>`, override them.

Relative paths start at the project's folder. `<home>` and `<hostname>` are placeholders.
"""

HOME = "var"  # store, logs, pid files
STORE = "sqlite:///<home>/synergy.db"
BUS = "store:"  # messages are kept in the store
BOX_ID = "dev-<hostname>"  # the id of this machine, which `present_on_boxes` match
CONTEXT = "context"  # the module that declares the deployment
START_TIMEPERIOD = None  # first hour of the timetable; None: 48 hours before the first start
MX_HOST = "127.0.0.1"
MX_PORT = 5000
MX_USERS_FILE = None  # the users of MX; needed if the host is not loopback
MX_SESSION_IDLE = 30  # minutes without use, after which a session ends
MX_NAMES = ""  # further host names of MX: "synergy.example.com, ops"
MX_PROXY_USER = ""  # the user that a proxy in front of MX runs as: "www-data" or "33"
MX_CERTIFICATE = None  # for TLS: the certificate chain; needs MX_KEY
MX_KEY = None
MX_PUBLIC_URL = ""  # the URL of MX in browsers: "https://synergy.example.com"
MX_OIDC_ISSUER = ""  # the login provider; needs MX_PUBLIC_URL, MX_USERS_FILE and those below
MX_OIDC_CLIENT_ID = ""
MX_OIDC_CLIENT_SECRET = ""  # better in a file: MX_OIDC_CLIENT_SECRET_FILE
MX_OIDC_NAME_CLAIM = "preferred_username"  # the name of a user
MX_OIDC_ROLE_CLAIM = "groups"  # what gives users a role
MX_OIDC_ROLES = ""  # values of that claim: "admin=ops-leads, operator=ops, viewer=staff"
LOG_LEVEL = "info"  # of the logs of processes: "info" or "debug"
DEMO_STREAM = "off"  # whether demo visits are generated
RETENTION = ""  # how long rows are kept, if not for the default time: "journal=60d, answers=12h"
SCHEDULES_UPDATE = "create"  # schedules of the context: "create" missing ones, or "sync" all
WEBHOOK_NETWORKS = ""  # private networks that schedules may send to: "10.1.0.0/16, fd00::/8"
WEBHOOK_PLAINTEXT = ""  # where webhooks need no https: "hooks.intranet, 10.1.0.0/16"
WEBHOOK_SECRETS = ""  # for signing webhooks: one, or "NEW,OLD"; better in WEBHOOK_SECRETS_FILE
CLOCK = ""  # for tests only: an instant at which the clock stands still
