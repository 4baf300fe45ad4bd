"""What happens next: tables of legal moves and pure decisions."""
