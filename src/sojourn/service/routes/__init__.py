"""What can be asked, by subject. Each module has its `routes`."""
