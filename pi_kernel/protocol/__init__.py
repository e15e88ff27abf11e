"""Values that are stored and sent: content, messages, results, events. No behaviour."""
