// Read when the client's native part is loaded: it warns of each manifest that it had to put in place itself.
process.env.LANCEDB_LOG ??= 'error'
