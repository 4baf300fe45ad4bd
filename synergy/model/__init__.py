"""What the nouns are: frozen values and enums, no behaviour beyond questions."""
