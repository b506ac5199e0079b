"""What people see of results: tables, JSON and pictures."""
