"""What can be fitted: one method a file."""
