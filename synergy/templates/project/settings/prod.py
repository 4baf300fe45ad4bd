"""Production, chosen by SYNERGY_ENV=prod. Any other name is an environment, too."""

BOX_ID = "<hostname>"
