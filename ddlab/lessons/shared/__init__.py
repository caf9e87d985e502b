"""What several lessons use."""
