// Peers are installed by whoever runs the benchmarks; checking types must do without them.
declare module '@duckdb/node-api'
declare module 'better-sqlite3'
declare module 'vega'
declare module 'vega-lite'
