// Peers are installed by whoever runs the benchmarks; checking types must do without them.
declare module '@duckdb/node-api'
