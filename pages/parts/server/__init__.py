"""What the server does for all pages: settings, jobs, the sandbox, sessions, logs."""
